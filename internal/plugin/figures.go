// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
)

// figures are the statistics of one node, or their sum over several nodes. A pointer is nil if its value is unknown.
type figures struct {
	// Version is the version of memcached. If nodes run different versions, it lists them.
	Version string `json:"version,omitempty"`
	// UptimeSeconds is how long memcached has run. For several nodes it is the shortest uptime.
	UptimeSeconds    int64 `json:"uptimeSeconds"`
	Items            int64 `json:"items"`
	MemoryBytes      int64 `json:"memoryBytes"`
	MemoryLimitBytes int64 `json:"memoryLimitBytes"`
	// Hits, Misses and Evictions are counted since memcached started.
	Hits      int64 `json:"hits"`
	Misses    int64 `json:"misses"`
	Evictions int64 `json:"evictions"`
	// HitRatio is the share of hits since memcached started, from 0 to 1. It is unknown before the first get.
	HitRatio *float64 `json:"hitRatio,omitempty"`
	// HitRatioNow is the hit ratio within the command's interval. It is unknown if there was no get in the interval.
	HitRatioNow *float64 `json:"hitRatioNow,omitempty"`
	// GetsPerSecond and the other rates cover the command's interval or, without one, the time since memcached started.
	GetsPerSecond      *float64 `json:"getsPerSecond,omitempty"`
	EvictionsPerSecond *float64 `json:"evictionsPerSecond,omitempty"`
	Connections        int64    `json:"connections"`

	// hitsNow and missesNow are counted within the interval.
	hitsNow, missesNow int64
}

// figuresOf reads the output of memcached's command "stats". A missing number is 0.
func figuresOf(stats map[string]string) figures {
	number := func(name string) int64 { return numberOf(stats, name) }
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
		f.GetsPerSecond = ptr.To(float64(f.Hits+f.Misses) / float64(f.UptimeSeconds))
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

// withRates returns f with the rates since the figures in the argument before. If the interval is 0, or if memcached was restarted or its
// counters were reset in between, withRates returns f unchanged, with the rates since memcached started.
func withRates(f, before figures, interval time.Duration) figures {
	hits, misses, evictions := f.Hits-before.Hits, f.Misses-before.Misses, f.Evictions-before.Evictions
	if interval <= 0 || f.UptimeSeconds < before.UptimeSeconds || min(hits, misses, evictions) < 0 {
		return f
	}
	f.hitsNow, f.missesNow, f.HitRatioNow = hits, misses, ratio(hits, misses)
	f.GetsPerSecond = ptr.To(float64(hits+misses) / interval.Seconds())
	f.EvictionsPerSecond = ptr.To(float64(evictions) / interval.Seconds())
	return f
}

// total sums up the figures of the ready nodes. It returns nil if none of them has figures.
func total(nodes []nodeReport) *figures {
	var sum *figures
	var versions []string
	for i := range nodes {
		f := nodes[i].Figures
		if f == nil || nodes[i].State != stateReady {
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
	sum.HitRatio, sum.HitRatioNow = ratio(sum.Hits, sum.Misses), ratio(sum.hitsNow, sum.missesNow)
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
	f.hitsNow += other.hitsNow
	f.missesNow += other.missesNow
	f.GetsPerSecond = plus(f.GetsPerSecond, other.GetsPerSecond)
	f.EvictionsPerSecond = plus(f.EvictionsPerSecond, other.EvictionsPerSecond)
}

// plus adds two rates. An unknown rate counts as 0 unless both are unknown.
func plus(a, b *float64) *float64 {
	if b == nil {
		return a
	}
	return ptr.To(ptr.Deref(a, 0) + *b)
}
