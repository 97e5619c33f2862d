// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, test := range []struct {
		values []time.Duration
		p      float64
		want   time.Duration
	}{
		{nil, 50, 0},
		{[]time.Duration{7}, 0, 7},
		{[]time.Duration{7}, 100, 7},
		{[]time.Duration{3, 1, 2}, 50, 2},
		{[]time.Duration{1, 2, 3, 4}, 50, 2},
		{hundred, 99, 99},
		{hundred, 99.5, 100},
	} {
		if got := percentile(test.values, test.p); got != test.want {
			t.Errorf("the %g-th percentile of %v is %d, want %d", test.p, test.values, got, test.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("the values were sorted in place")
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{4}, 4},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(test.values); got != test.want {
			t.Errorf("the median of %v is %g, want %g", test.values, got, test.want)
		}
	}
}
