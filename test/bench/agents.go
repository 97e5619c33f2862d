// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// The limits of an agent (M11).
const (
	// mostAgentMemory is the limit of the peak memory, in MiB.
	mostAgentMemory = 15
	// mostAgentCPU is the limit of the CPU usage at rest, in CPUs.
	mostAgentCPU = 0.01
	// slowestScrape is the limit of the 99th percentile of the scrapes.
	slowestScrape = 50 * time.Millisecond
)

// scrapeInterval is the time between two scrapes of an agent at rest. longestRest limits how long an agent at rest is observed.
const (
	scrapeInterval = 15 * time.Second
	longestRest    = time.Minute
)

// besideMemcached measures an agent (M11) beside a full memcached: with 1 client connection, with 100, and with the number in the flag
// -clients. It starts a new agent for each of these numbers.
func (b *bench) besideMemcached(ctx context.Context) error {
	o := b.options
	pod, err := podOf(monitored, sizedFor(o.cache, o.clients))
	if err != nil {
		return err
	}
	return onNode(ctx, o.deadline(), pod, nil, func(ctx context.Context, n *node) {
		version, items := n.fill(ctx)
		b.logf("memcached %s has %.0f items in %d MiB", version, items, o.cache)
		b.report.addDetail(agents, fmt.Sprintf("items of a full memcached %s with %d MiB", version, o.cache), "items", items)
		for _, clients := range slices.Compact([]int{min(1, o.clients), min(100, o.clients), o.clients}) {
			n.connect(ctx, clients)
			s := n.sampleAgent(ctx, o.scrapes, min(o.idle, longestRest))
			b.logf("connections: %d, peak memory of the agent: %.1f MiB", clients, s.peak)
			b.addAgent(clients, s)
		}
	})
}

// sizedFor returns a change of the spec. The change sets config.memory to cache MiB, and config.maxConnections to clients.
func sizedFor(cache, clients int) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Config.Memory = resource.NewQuantity(int64(cache)*mebibyte, resource.BinarySI)
		mc.Spec.Config.MaxConnections = int32(clients) //nolint:gosec // ports limit it
	}
}

// agentSample contains the measurements of a new agent: first while it is scraped in quick succession, then while it rests.
type agentSample struct {
	// scraped contains the duration of each scrape. failed is the number of scrapes that lacked the statistics of memcached.
	scraped []time.Duration
	failed  int
	// scraping is the CPU time of all scrapes together. resting is the CPU time while the agent rests, and rested is how long it rests.
	scraping, resting, rested time.Duration
	// peak is the largest memory in use, in MiB.
	peak float64
}

// addAgent reports the sample of an agent whose memcached has this many client connections.
func (b *bench) addAgent(clients int, s agentSample) {
	connections := fmt.Sprintf(", connections: %d", clients)
	b.report.hold(agents, "peak memory of an agent"+connections, "MiB", s.peak, threshold{mostAgentMemory, false})
	b.report.addDetail(agents, "CPU of a scrape"+connections, "ms", milliseconds(s.scraping)/float64(len(s.scraped)))
	minute := milliseconds(s.resting) * float64(time.Minute) / float64(s.rested)
	b.report.hold(agents, "CPU of a minute at rest"+connections, "ms", minute,
		threshold{mostAgentCPU * milliseconds(time.Minute), false})
	b.report.addDetail(agents, "a scrape"+connections+", p50", "ms", milliseconds(percentile(s.scraped, 50)))
	b.report.hold(agents, "99th percentile of a scrape"+connections, "ms", milliseconds(percentile(s.scraped, 99)),
		threshold{milliseconds(slowestScrape), false})
	b.report.holdCount(agents, "scrapes without statistics"+connections, "scrapes", s.failed, 0)
}

// sampleAgent starts an agent, scrapes it in quick succession, lets it rest, and stops it.
func (n *node) sampleAgent(ctx context.Context, scrapes int, rest time.Duration) agentSample {
	a := must(n.startAgent(ctx))
	var s agentSample
	before := must(usageOf(a.Pid()))
	for range scrapes {
		began := time.Now()
		text := must(a.metrics.fetch(ctx))
		s.scraped = append(s.scraped, time.Since(began))
		if !strings.Contains(string(text), "\nmemcached_up 1\n") {
			s.failed++
		}
	}
	scraped := must(usageOf(a.Pid()))
	began := time.Now()
	a.rest(ctx, rest)
	rested := must(usageOf(a.Pid()))
	s.scraping, s.resting, s.rested, s.peak = scraped.cpu-before.cpu, rested.cpu-scraped.cpu, time.Since(began), rested.peak
	check(a.Stop(stopGrace))
	return s
}

// rest sends the agent only the probes of the kubelet and the scrapes of Prometheus, for this duration.
func (a *agent) rest(ctx context.Context, duration time.Duration) {
	var group errgroup.Group
	ask := func(client *metricsClient, period time.Duration) {
		times := evenly(int(max(1, duration/period)), period)
		group.Go(func() error {
			return onSchedule(ctx, times, func(int) error {
				_, err := client.fetch(ctx)
				return err
			})
		})
	}
	for _, probe := range []*corev1.Probe{a.container.ReadinessProbe, a.container.LivenessProbe} {
		ask(a.probe(probe.HTTPGet.Path), time.Duration(probe.PeriodSeconds)*time.Second)
	}
	ask(a.metrics, scrapeInterval)
	group.Go(func() error { return pause(ctx, duration) })
	check(group.Wait())
}
