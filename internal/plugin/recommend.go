// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// plan is the memory of a node, in bytes, and the number of nodes.
type plan struct{ memory, size int64 }

// Bounds and thresholds of recommendations.
const (
	// smallestNode is the smallest memory that the API accepts. smallestFile is the smallest memory with storage.type MemoryFile.
	smallestNode = 64 << 20
	smallestFile = 128 << 20
	// largestNode is the largest memory to which a recommendation enlarges a node. Beyond it, more nodes are better: the loss of one
	// then costs fewer keys.
	largestNode = 16 << 30
	// settled is the uptime after which evictions are judged. full is the uptime after which spare memory is judged.
	settled = time.Hour
	full    = 24 * time.Hour
	// A cache that evicts items has enough memory if its hit ratio is at least goodRatio, and if the evicted items had not been read for
	// at least oldEnough.
	goodRatio = 0.9
	oldEnough = time.Hour
	// busyNode is the number of reads per second that memcached serves easily with four threads.
	busyNode = 200_000
)

// smallestOf returns the smallest memory that a recommendation gives the nodes of a Memcached. The API demands at least twice
// maxItemSize.
func smallestOf(mc *cachev1alpha1.Memcached) int64 {
	smallest := int64(smallestNode)
	if mc.Spec.Storage.Type == cachev1alpha1.StorageMemoryFile {
		smallest = smallestFile
	}
	if item := mc.Spec.Config.MaxItemSize; item != nil {
		smallest = max(smallest, powerOfTwo(2*item.Value()))
	}
	return smallest
}

// recommend returns a plan for the load, and the reasons. The plan at most doubles the memory of a node, because only a test shows
// how more memory affects the hit ratio. No node gets less than smallest.
func recommend(now plan, smallest int64, nodes []load) (plan, []string) {
	advice, sum := now, sumOf(nodes)
	var reasons []string
	switch uptime := time.Duration(sum.UptimeSeconds) * time.Second; {
	case sum.Hits+sum.Misses == 0:
		reasons = []string{"Nobody has read anything yet: there is nothing to judge."}
	case uptime < settled:
		reasons = []string{fmt.Sprintf("A node has run for only %s: its memory is judged after %s.", duration.HumanDuration(uptime),
			duration.HumanDuration(settled))}
	case ptr.Deref(sum.EvictionsPerSecond, 0) > 0:
		advice.memory, reasons = adviseEvicting(now.memory, sum)
	case sum.Evictions > 0:
		reasons = []string{"Nothing is evicted at the moment, but it was: measure at the busiest hour."}
	default:
		advice.memory, reasons = adviseSpare(now.memory, smallest, uptime, maxPages(nodes))
	}
	if advice.memory > largestNode && advice.memory > now.memory {
		advice.memory, advice.size = now.memory, now.size*2
		reasons = append(reasons, "More nodes instead of larger ones: each takes its keys with it when it leaves.")
	}
	reasons = append(reasons, adviseSize(&advice, smallest, nodes)...)
	return advice, append(reasons, otherLimits(nodes)...)
}

// adviseEvicting recommends the memory for nodes that evict.
func adviseEvicting(memory int64, sum load) (int64, []string) {
	hits, age := ptr.Deref(sum.HitRatioNow, ptr.Deref(sum.HitRatio, 0)), duration.HumanDuration(sum.evictedAge)
	if hits >= goodRatio && sum.evictedAge >= oldEnough {
		return memory, []string{fmt.Sprintf("What is evicted had not been read for %s, and %.1f%% of the reads hit: the memory suffices.",
			age, hits*100)}
	}
	reasons := []string{fmt.Sprintf("Items are evicted that had not been read for only %s, and %.1f%% of the reads hit: twice the memory "+
		"keeps them about twice as long. Measure again afterwards: if the hit ratio stays, the memory was not the limit.", age, hits*100)}
	if sum.evictedUnread*2 > sum.Evictions {
		reasons = append(reasons, "Most evicted items were never read: storing fewer of them may help more than memory.")
	}
	return memory * 2, reasons
}

// adviseSpare recommends the memory for nodes that have not evicted since they started. The argument used is the memory that the
// fullest node uses.
func adviseSpare(memory, smallest int64, uptime time.Duration, used int64) (int64, []string) {
	enough := max(smallest, powerOfTwo(used*3/2))
	if uptime < full || enough >= memory {
		return memory, []string{"Nothing was evicted: the memory suffices."}
	}
	return enough, []string{fmt.Sprintf("Nothing was evicted in %s, and no node uses more than %s: half as much again is enough.",
		duration.HumanDuration(uptime), mebibytes(used))}
}

func adviseSize(advice *plan, smallest int64, nodes []load) (reasons []string) {
	reads := ptr.Deref(sumOf(nodes).GetsPerSecond, 0)
	if wanted := int64(reads/busyNode) + 1; reads > busyNode*float64(len(nodes)) && wanted > advice.size {
		advice.size = wanted
		reasons = append(reasons, fmt.Sprintf("%.0f reads a second are more than %d for each node.", reads, busyNode))
	}
	if advice.size == 1 {
		total := advice.memory
		advice.size, advice.memory = 3, max(smallest, powerOfTwo(total/3))
		reasons = append(reasons, "A single node takes every key with it when it leaves; one of three, a third.")
	}
	for i := range nodes {
		if own := ptr.Deref(nodes[i].GetsPerSecond, 0); len(nodes) > 2 && own > busyNode/100 && own > reads/2 {
			reasons = append(reasons, fmt.Sprintf("%s serves %.0f%% of the reads, perhaps for one key: neither memory nor nodes help. "+
				"Keep that key in the clients.", nodes[i].node, own/reads*100))
		}
	}
	return reasons
}

// otherLimits returns advice about limits besides memory and size.
func otherLimits(nodes []load) (reasons []string) {
	sum, crowded := sumOf(nodes), false
	for i := range nodes {
		crowded = crowded || nodes[i].Connections*5 > nodes[i].maxConnections*4
	}
	if crowded || sum.rejected > 0 {
		reasons = append(reasons, fmt.Sprintf("Connections are short (%d were refused): raise config.maxConnections, or let the clients "+
			"share connections.", sum.rejected))
	}
	if sum.tooLarge > 0 {
		reasons = append(reasons, fmt.Sprintf("%d items were too large to be stored: raise config.maxItemSize, or store less in an item.",
			sum.tooLarge))
	}
	return reasons
}

// sumOf adds up loads. The sum has the shortest evictedAge and the shortest uptime.
func sumOf(nodes []load) load {
	reports := make([]nodeReport, len(nodes))
	var sum load
	for i := range nodes {
		l := &nodes[i]
		reports[i] = nodeReport{State: stateReady, Figures: &l.figures}
		if l.evictedAge > 0 && (sum.evictedAge == 0 || l.evictedAge < sum.evictedAge) {
			sum.evictedAge = l.evictedAge
		}
		sum.evictedUnread += l.evictedUnread
		sum.maxConnections += l.maxConnections
		sum.rejected += l.rejected
		sum.tooLarge += l.tooLarge
	}
	sum.figures = *total(reports)
	return sum
}

func maxPages(nodes []load) (most int64) {
	for i := range nodes {
		most = max(most, nodes[i].pages)
	}
	return most
}

// powerOfTwo returns the smallest power of two that is not below least.
func powerOfTwo(least int64) int64 {
	power := int64(1)
	for power < least {
		power *= 2
	}
	return power
}
