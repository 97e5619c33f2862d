// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Family describes all series with the same name.
type Family struct {
	Name, Help string
	Labels     []string
	// Counter is false for a gauge.
	Counter bool

	description *prometheus.Desc
}

func newFamily(counter bool, name, help string, labels []string) *Family {
	name = "memcached_" + name
	return &Family{
		Name: name, Help: help, Labels: labels, Counter: counter,
		description: prometheus.NewDesc(name, help, labels, nil),
	}
}

func counter(name, help string, labels ...string) *Family { return newFamily(true, name, help, labels) }

func gauge(name, help string, labels ...string) *Family { return newFamily(false, name, help, labels) }

// Metric returns a series of the family. The labels are the values of Labels.
func (f *Family) Metric(value float64, labels ...string) prometheus.Metric {
	kind := prometheus.GaugeValue
	if f.Counter {
		kind = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(f.description, kind, value, labels...)
}

// Description returns the family's descriptor, which a prometheus.Collector sends in Describe.
func (f *Family) Description() *prometheus.Desc { return f.description }

// source maps a statistic of memcached to a series of the family. labels are the values of the family's Labels, except for the slab
// class, which is an argument of collection.add.
type source struct {
	stat   string
	family *Family
	labels []string
}

// Families returns the families of a node, without duplicates.
func Families() []*Family {
	return familiesOf([]*Family{Up, version, commands, slabCommands}, process, storage, crawlerSettings, settings, items, slabs)
}

func familiesOf(families []*Family, sources ...[]source) []*Family {
	for _, from := range slices.Concat(sources...) {
		families = append(families, from.family)
	}
	slices.SortFunc(families, func(a, b *Family) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(families)
}
