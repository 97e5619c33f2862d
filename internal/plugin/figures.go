// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/ptr"
)

// figures are statistics of a node, or of several nodes together. Unknown ones are nil.
type figures struct {
	// Version is the version of memcached. Several nodes may have several.
	Version string `json:"version,omitempty"`
	// UptimeSeconds limits the age of the items. For several nodes it is the shortest.
	UptimeSeconds    int64 `json:"uptimeSeconds"`
	Items            int64 `json:"items"`
	MemoryBytes      int64 `json:"memoryBytes"`
	MemoryLimitBytes int64 `json:"memoryLimitBytes"`
	// Hits, Misses and Evictions count since memcached started.
	Hits      int64 `json:"hits"`
	Misses    int64 `json:"misses"`
	Evictions int64 `json:"evictions"`
	// HitRatio is the share of hits since memcached started, from 0 to 1. It is unknown before the first get.
	HitRatio *float64 `json:"hitRatio,omitempty"`
	// EvictionsPerSecond is the rate in the interval of the command or, without one, since memcached started.
	EvictionsPerSecond *float64 `json:"evictionsPerSecond,omitempty"`
	Connections        int64    `json:"connections"`
}

// figuresOf reads the output of stats. A missing number is 0.
func figuresOf(stats map[string]string) figures {
	number := func(name string) int64 {
		value, err := strconv.ParseInt(stats[name], 10, 64)
		if err != nil {
			return 0
		}
		return value
	}
	f := figures{
		Version:          stats["version"],
		UptimeSeconds:    number("uptime"),
		Items:            number("curr_items"),
		MemoryBytes:      number("bytes"),
		MemoryLimitBytes: number("limit_maxbytes"),
		Hits:             number("get_hits"),
		Misses:           number("get_misses"),
		Evictions:        number("evictions"),
		Connections:      number("curr_connections"),
	}
	f.HitRatio = ratio(f.Hits, f.Misses)
	if f.UptimeSeconds > 0 {
		f.EvictionsPerSecond = ptr.To(float64(f.Evictions) / float64(f.UptimeSeconds))
	}
	return f
}

func ratio(hits, misses int64) *float64 {
	if hits+misses <= 0 {
		return nil
	}
	return ptr.To(float64(hits) / float64(hits+misses))
}

// withRates adds the rates of an interval to the figures at its end. If memcached restarted meanwhile, or somebody reset the counters,
// the rates since the start stay.
func withRates(f, before figures, interval time.Duration) figures {
	if interval > 0 && f.UptimeSeconds >= before.UptimeSeconds && f.Evictions >= before.Evictions {
		f.EvictionsPerSecond = ptr.To(float64(f.Evictions-before.Evictions) / interval.Seconds())
	}
	return f
}

// total sums the figures of nodes. It returns nil if no node has any.
func total(nodes []nodeReport) *figures {
	var sum *figures
	var versions []string
	for i := range nodes {
		f := nodes[i].Figures
		if f == nil {
			continue
		}
		if sum == nil {
			sum = &figures{UptimeSeconds: f.UptimeSeconds}
		}
		versions = append(versions, f.Version)
		sum.UptimeSeconds = min(sum.UptimeSeconds, f.UptimeSeconds)
		sum.add(f)
	}
	if sum == nil {
		return nil
	}
	slices.SortFunc(versions, naturally)
	sum.Version = strings.Join(slices.Compact(versions), ",")
	sum.HitRatio = ratio(sum.Hits, sum.Misses)
	return sum
}

func (f *figures) add(other *figures) {
	f.Items += other.Items
	f.MemoryBytes += other.MemoryBytes
	f.MemoryLimitBytes += other.MemoryLimitBytes
	f.Hits += other.Hits
	f.Misses += other.Misses
	f.Evictions += other.Evictions
	f.Connections += other.Connections
	if other.EvictionsPerSecond != nil {
		f.EvictionsPerSecond = ptr.To(ptr.Deref(f.EvictionsPerSecond, 0) + *other.EvictionsPerSecond)
	}
}
