// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// stage is a part of the benchmark whose cost is compared between Memcacheds with and without monitoring.
type stage struct {
	metric metric
	name   string
}

// The stages other than the operations in operations.go.
var created, restarted = stage{converge, "creation to Ready"}, stage{restart, "restart"}

type costs map[stage]cost

// cost is the number of requests per Memcached, by type of request. It contains only types whose number is the same in every run.
type cost map[string]float64

// costOf returns the cost of requests for n Memcacheds. It leaves out status writes that only report progress, because their number
// depends on the time.
func costOf(requests []request, n int) cost {
	children, statuses := writesPerObject(requests)
	c, each := count(requests), float64(n)
	return cost{
		"writes to children": float64(total(children)) / each,
		"writes to statuses": float64(total(statuses)-total(progressWrites(requests))) / each,
		"GETs":               float64(c[get]) / each,
		"lists":              float64(c[list]) / each,
	}
}

// costOfStart returns the cost of a starting operator for n Memcacheds. It counts watched Kinds instead of watches, because the API
// server ends a varying number of watches. The first list request for each Kind counts as a listed Kind, and only the following ones
// count as lists.
func costOfStart(requests []request, n int) cost {
	watched, listed := sets.Set[string]{}, sets.Set[string]{}
	for _, r := range requests {
		if column := r.columnOf(); column == watch {
			watched.Insert(r.resource)
		} else if column == list {
			listed.Insert(r.resource)
		}
	}
	c := costOf(requests, n)
	c["watched Kinds"], c["listed Kinds"] = float64(watched.Len()), float64(listed.Len())
	c["lists"] -= float64(listed.Len()) / float64(n)
	return c
}

func total(numbers map[types.NamespacedName]int) int {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	return sum
}

// beyond returns by how many requests this cost exceeds the other one. Fewer requests of one type do not make up for more of another.
func (c cost) beyond(other cost) float64 {
	more := 0.0
	for sort, requests := range c {
		more += max(0, requests-other[sort])
	}
	return more
}

// holdNoMore requires that Memcacheds with monitoring cost no more than those without, in each stage that was measured for both.
func (b *bench) holdNoMore(with costs) {
	inOrder := slices.SortedFunc(maps.Keys(with), func(a, b stage) int {
		return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.name, b.name))
	})
	for _, s := range inOrder {
		if without, measured := b.plain[s]; measured {
			b.report.hold(s.metric, "requests per resource with monitoring, beyond those without: "+s.name, "requests",
				with[s].beyond(without), threshold{0, true})
		}
	}
}
