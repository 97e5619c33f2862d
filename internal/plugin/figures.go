// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// figures are the statistics of one node, or their sum over several nodes.
type figures struct {
	// Version is the version of memcached. If nodes run different versions, it lists them.
	Version string `json:"version"`
	// UptimeSeconds is how long memcached has run. For several nodes it is the shortest uptime.
	UptimeSeconds int64 `json:"uptimeSeconds"`
	// Stats are memcached's statistics, under memcached's names. Now says by how much those that count have grown within the interval.
	Stats           map[string]int64 `json:"stats"`
	Now             map[string]int64 `json:"now"`
	IntervalSeconds float64          `json:"intervalSeconds"`
	// EvictedAgeSeconds is how long an item that was evicted within the interval had not been read, but at least a second. Of several slab
	// classes and nodes, it is the shortest time. It is 0 if nothing was evicted.
	EvictedAgeSeconds int64 `json:"evictedAgeSeconds,omitempty"`
}

// reading is what a node says at one time: the outputs of memcached's commands "stats" and "stats items".
type reading struct{ stats, items map[string]string }

// figuresOf compares two readings with an interval in between. A missing number is 0.
func figuresOf(before, after reading, interval time.Duration) *figures {
	f := &figures{
		Version: after.stats["version"], UptimeSeconds: numberOf(after.stats, "uptime"), IntervalSeconds: interval.Seconds(),
		Stats: map[string]int64{}, Now: map[string]int64{},
	}
	for _, name := range []string{"curr_connections", "curr_items", "bytes", "limit_maxbytes"} {
		f.Stats[name] = numberOf(after.stats, name)
	}
	for _, name := range []string{"get_hits", "get_misses", "evictions"} {
		f.Stats[name], f.Now[name] = numberOf(after.stats, name), increase(before.stats, after.stats, name)
	}
	for name := range after.items {
		class, counts := strings.CutSuffix(name, ":evicted")
		if counts && increase(before.items, after.items, name) > 0 {
			f.EvictedAgeSeconds = shorter(f.EvictedAgeSeconds, max(1, numberOf(after.items, class+":evicted_time")))
		}
	}
	return f
}

// numberOf returns a statistic, or 0 if it is missing or no number.
func numberOf(stats map[string]string, name string) int64 {
	value, err := strconv.ParseInt(stats[name], 10, 64)
	if err != nil {
		return 0
	}
	return value
}

// increase returns by how much a counter has grown. A counter that is lower than before began anew at 0.
func increase(before, after map[string]string, name string) int64 {
	was, is := numberOf(before, name), numberOf(after, name)
	if is < was {
		return is
	}
	return is - was
}

// shorter returns the smaller one of two ages, of which 0 is none.
func shorter(a, b int64) int64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// total sums up the figures of the ready nodes. It returns nil if none of them has figures.
func total(nodes []nodeReport) *figures {
	sum := &figures{UptimeSeconds: math.MaxInt64, Stats: map[string]int64{}, Now: map[string]int64{}}
	var versions []string
	for i := range nodes {
		f := nodes[i].Figures
		if f == nil || nodes[i].State != stateReady {
			continue
		}
		versions = append(versions, f.Version)
		sum.UptimeSeconds, sum.IntervalSeconds = min(sum.UptimeSeconds, f.UptimeSeconds), f.IntervalSeconds
		for name := range f.Stats {
			sum.Stats[name] += f.Stats[name]
			sum.Now[name] += f.Now[name]
		}
		sum.EvictedAgeSeconds = shorter(sum.EvictedAgeSeconds, f.EvictedAgeSeconds)
	}
	if versions == nil {
		return nil
	}
	slices.Sort(versions)
	sum.Version = strings.Join(slices.Compact(versions), ",")
	return sum
}

const (
	// settled is the uptime after which evictions are judged.
	settled = time.Hour
	// A cache that evicts items has enough memory if its hit ratio is at least goodRatio, and if the evicted items had not been read for
	// at least oldEnough.
	goodRatio = 0.9
	oldEnough = time.Hour
)

// advice says in one line why the cache needs more memory. It returns "" if nothing speaks for it, or if it is too early to judge.
func (f *figures) advice() string {
	if f == nil || f.Now["evictions"] == 0 || gets(f.Now) == 0 || time.Duration(f.UptimeSeconds)*time.Second < settled {
		return ""
	}
	age := time.Duration(f.EvictedAgeSeconds) * time.Second
	if float64(f.Now["get_hits"]) >= goodRatio*float64(gets(f.Now)) && age >= oldEnough {
		return ""
	}
	return fmt.Sprintf("%s items a second are evicted, %s after their last use, and %s of the reads hit: a larger config.memory may help.",
		f.perSecond(f.Now["evictions"]), duration.HumanDuration(age), hitRatio(f.Now))
}

// unknownText is shown for unknown values.
const unknownText = "-"

var figureHeader = []string{"VERSION", "UPTIME", "ITEMS", "MEMORY", "GETS/S", "HIT-RATIO", "SINCE-START", "EVICTIONS/S", "CONNECTIONS"}

func (f *figures) cells() []string {
	if f == nil {
		return slices.Repeat([]string{unknownText}, len(figureHeader))
	}
	return []string{
		f.Version, duration.HumanDuration(time.Duration(f.UptimeSeconds) * time.Second), fmt.Sprint(f.Stats["curr_items"]),
		mebibytes(f.Stats["bytes"]) + "/" + mebibytes(f.Stats["limit_maxbytes"]), f.perSecond(gets(f.Now)), hitRatio(f.Now),
		hitRatio(f.Stats), f.perSecond(f.Now["evictions"]), fmt.Sprint(f.Stats["curr_connections"]),
	}
}

func gets(stats map[string]int64) int64 { return stats["get_hits"] + stats["get_misses"] }

func hitRatio(stats map[string]int64) string {
	if gets(stats) == 0 {
		return unknownText
	}
	return fmt.Sprintf("%.1f%%", float64(stats["get_hits"])/float64(gets(stats))*100)
}

func (f *figures) perSecond(count int64) string {
	return fmt.Sprintf("%.1f", float64(count)/f.IntervalSeconds)
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1fMi", float64(bytes)/(1<<20)) }
