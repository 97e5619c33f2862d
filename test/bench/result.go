// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"time"
)

// metric is the name of a group of results. docs/benchmarks.md defines each metric.
type metric string

const (
	converge   metric = "M1"
	operations metric = "M2"
	restart    metric = "M3"
	throughput metric = "M4"
	endToEnd   metric = "M5"
	reaction   metric = "M6"
	footprint  metric = "M7"
	failover   metric = "M8"
	readiness  metric = "M9"
	manyNodes  metric = "M10"
	agents     metric = "M11"
	hostility  metric = "M12"
	security   metric = "M13"
	proxying   metric = "M15"
)

var allMetrics = []metric{
	converge, operations, restart, throughput, endToEnd, reaction, footprint, failover, readiness, manyNodes, agents, hostility,
	security, proxying,
}

type threshold struct {
	// most is the largest accepted value.
	most float64
	// exact means that the value is a count, which does not depend on the speed of the machine.
	exact bool
}

type result struct {
	Metric metric `json:"metric"`
	Name   string `json:"name"`
	// Value is the median of Samples, or the maximum if Exact is true. Each measurement of the value adds a sample.
	Value   float64   `json:"value"`
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"`
	// AtMost is the threshold, or nil if the value is only informative.
	AtMost *float64 `json:"atMost,omitempty"`
	// Exact means that the value is a count, which does not depend on the speed of the machine.
	Exact bool `json:"exact,omitempty"`
	// NotMeasured is why there is no value, or empty if there is one.
	NotMeasured string `json:"notMeasured,omitempty"`
	// Detail means that the documentation omits the value.
	Detail bool `json:"detail,omitempty"`
}

func (r *result) verdict() verdict {
	switch {
	case r.AtMost == nil:
		return informative
	case r.NotMeasured != "":
		return unmeasured
	case r.Value <= *r.AtMost:
		return holds
	default:
		return missed
	}
}

type verdict string

const (
	informative verdict = ""
	holds       verdict = "holds"
	missed      verdict = "missed"
	// unmeasured has the same consequences as missed.
	unmeasured verdict = "NOT MEASURED"
)

func (r *result) text() string {
	if r.NotMeasured != "" {
		return string(unmeasured) + ": " + r.NotMeasured
	}
	return number(r.Value)
}

// phase contains the numbers of requests of one client in one part of the benchmark.
type phase struct {
	Metric metric `json:"metric"`
	Name   string `json:"name"`
	Counts counts `json:"counts"`
	// NoOps is how many accepted writes changed nothing, or -1 if this was not measured.
	NoOps int `json:"noOps"`
}

type report struct {
	Conditions conditions `json:"conditions"`
	Results    []*result  `json:"results"`
	Phases     []phase    `json:"phases"`
}

type conditions struct {
	Time       time.Time     `json:"time"`
	CPUs       int           `json:"cpus"`
	Memory     string        `json:"memory"`
	Platform   string        `json:"platform"`
	Kubernetes string        `json:"kubernetes"`
	Operator   string        `json:"operator"`
	Command    string        `json:"command"`
	Rounds     int           `json:"rounds"`
	Duration   time.Duration `json:"duration"`
}

// add adds a sample to a value. Without a threshold, the value is only informative.
func (r *report) add(m metric, name, unit string, value float64) *result {
	one := r.find(m, name)
	if one == nil {
		one = &result{Metric: m, Name: name, Unit: unit}
		r.Results = append(r.Results, one)
	}
	one.Samples = append(one.Samples, value)
	one.Value = median(one.Samples)
	return one
}

func (r *report) find(m metric, name string) *result {
	for _, one := range r.Results {
		if one.Metric == m && one.Name == name {
			return one
		}
	}
	return nil
}

// addDetail adds a sample to a value that has no threshold and is not in the documentation.
func (r *report) addDetail(m metric, name, unit string, value float64) {
	r.add(m, name, unit, value).Detail = true
}

// hold adds a sample to a value that has a threshold.
func (r *report) hold(m metric, name, unit string, value float64, limit threshold) {
	one := r.add(m, name, unit, value)
	one.AtMost, one.Exact = &limit.most, limit.exact
	if limit.exact {
		one.Value = slices.Max(one.Samples)
	}
}

// holdLess compares a quantity in two cases, named by the arguments one and other. The quantity must not be larger in the first case.
func (r *report) holdLess(m metric, quantity, one, other string) {
	less, more := r.find(m, quantity+", "+one), r.find(m, quantity+", "+other)
	ratio, reason := 0.0, cmp.Or(less.NotMeasured, more.NotMeasured)
	if reason == "" {
		ratio = less.Value / more.Value
	}
	name := one + " compared with " + other + ": " + quantity
	r.hold(m, name, "times", ratio, threshold{1, false})
	r.find(m, name).NotMeasured = reason
}

func (r *report) holdCount(m metric, name, unit string, value, most int) {
	r.hold(m, name, unit, float64(value), threshold{float64(most), true})
}

// missed returns the results that exceed their thresholds or were not measured. If exact is true, it returns only those of counts.
func (r *report) missed(exact bool) []*result {
	var found []*result
	for _, one := range r.Results {
		if v := one.verdict(); (v == missed || v == unmeasured) && (one.Exact || !exact) {
			found = append(found, one)
		}
	}
	return found
}
