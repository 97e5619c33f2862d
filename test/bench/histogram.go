// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
)

// histogram is a distribution of durations in seconds.
type histogram struct {
	count uint64
	sum   float64
	// atMost maps each bound to the number of durations up to it.
	atMost map[float64]uint64
}

// histogram adds up the histograms of a metric family. Only those with all of these labels count. labels are alternating names and
// values.
func (f families) histogram(name string, labels ...string) histogram {
	h := histogram{atMost: map[float64]uint64{}}
	for _, one := range f[name].GetMetric() {
		if !hasLabels(one, labels) {
			continue
		}
		h.count += one.GetHistogram().GetSampleCount()
		h.sum += one.GetHistogram().GetSampleSum()
		for _, bucket := range one.GetHistogram().GetBucket() {
			h.atMost[bucket.GetUpperBound()] += bucket.GetCumulativeCount()
		}
	}
	return h
}

// since returns the durations that were added since an earlier state of the histogram.
func (h histogram) since(before histogram) histogram {
	later := histogram{count: h.count - before.count, sum: h.sum - before.sum, atMost: map[float64]uint64{}}
	for bound, n := range h.atMost {
		later.atMost[bound] = n - before.atMost[bound]
	}
	return later
}

func (h histogram) mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / float64(h.count)
}

// percentile returns the smallest bound that covers at least p percent of the durations, or 0 for an empty histogram.
func (h histogram) percentile(p float64) float64 {
	for _, bound := range slices.Sorted(maps.Keys(h.atMost)) {
		if h.count > 0 && float64(h.atMost[bound]) >= p/100*float64(h.count) {
			return bound
		}
	}
	return 0
}
