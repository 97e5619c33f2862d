// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Bench measures the operator: how many requests it sends, how fast it is, and which resources it needs. "make bench" builds the
// necessary programs and runs Bench. Bench starts simulated clusters, and the operator as a process with the permissions of
// config/rbac and the flags of config/manager. docs/benchmarks.md defines the metrics (M1, M2 and so on).
//
// Two comparisons show the speed without the operator. The children of a Memcached are the objects that the operator creates for it.
// Bare children are the same objects, created by Bench without a Memcached. The raw writer is a client that does only the writes that
// an operator must do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	exitMissed = 1
	exitFailed = 2
)

func main() { os.Exit(status()) }

func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctrl.SetLogger(logr.Discard()) // otherwise the benchmark's own clients would log
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	b := &bench{options: o, out: os.Stdout, began: time.Now(), plain: costs{}}
	failure := b.run(ctx)
	if err := errors.Join(failure, b.publish(failure == nil)); err != nil {
		fmt.Fprintln(os.Stderr, "The benchmark failed:", err)
		return exitFailed
	}
	if failed := b.report.missed(o.gate == gateCounts); len(failed) > 0 {
		fmt.Fprintf(os.Stderr, "%d of %d values exceed their thresholds or were not measured.\n", len(failed), len(b.report.Results))
		return exitMissed
	}
	return 0
}

// The values of the flag -gate. They select the missed thresholds that make the exit status 1: gateAll selects all of them. gateCounts
// selects those of counts, which do not depend on the speed of the machine.
const (
	gateAll    = "all"
	gateCounts = "counts"
)

// numbers are the sizes of the measurements, such as the number of Memcacheds. parseOptions describes each.
type numbers struct {
	resources, statefulSets, monitored, secured, many, large, few, foreign, paced, nodes, hostile int
	clients, cache, scrapes, requests                                                             int
}

// usual are the numbers with which published results are measured. The thresholds are meant for these numbers.
var usual = numbers{
	resources: 1000, statefulSets: 100, monitored: 1000, secured: 500, many: 5000, large: 10000, few: 200, foreign: 20000, paced: 120,
	nodes: 1000, hostile: 1000, clients: 10000, cache: 1024, scrapes: 1000, requests: 200000,
}

type options struct {
	numbers
	only                             []metric
	rounds                           int
	idle, resync                     time.Duration
	gate, jsonFile, updated, command string
}

// deadline limits the time of one measurement. It grows with the largest number of Memcacheds. A machine with 2 CPUs needs about a
// third of it.
func (o *options) deadline() time.Duration {
	most := max(time.Duration(max(o.resources, o.many, o.large))*300*time.Millisecond, time.Duration(o.hostile)*3*time.Second)
	return 10*time.Minute + most + o.idle
}

func parseOptions(args []string) (options, error) {
	o := options{command: strings.Join(args, " ")}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "what to measure, such as M1,M4; empty for everything")
	flags.IntVar(&o.resources, "resources", usual.resources, "Memcacheds of M1, M2, M5 and M8")
	flags.IntVar(&o.statefulSets, "statefulsets", usual.statefulSets, "Memcacheds with StatefulSets of M1, M2 and M3")
	flags.IntVar(&o.monitored, "monitored", usual.monitored, "Memcacheds with monitoring of M1, M2 and M3")
	flags.IntVar(&o.secured, "secured", usual.secured, "Memcacheds with TLS and users of M2")
	flags.IntVar(&o.many, "many", usual.many, "Memcacheds of M4; with fewer than some thousand, the ratio varies")
	flags.IntVar(&o.large, "large", usual.large, "Memcacheds of M3, M6 and M7")
	flags.IntVar(&o.few, "few", usual.few, "Memcacheds of a second measurement in M7")
	flags.IntVar(&o.foreign, "foreign", usual.foreign, "pods and Deployments of others in M7")
	flags.IntVar(&o.paced, "paced", usual.paced, "Memcacheds of M9")
	flags.IntVar(&o.nodes, "nodes", usual.nodes, "nodes of the Memcached of M10, at most 1000")
	flags.IntVar(&o.hostile, "hostile", usual.hostile, "Memcacheds of M12")
	flags.IntVar(&o.clients, "clients", usual.clients, "the most connections of clients in M11")
	flags.IntVar(&o.cache, "cache", usual.cache, "item memory of the memcached of M11 in MiB, at least 64")
	flags.IntVar(&o.scrapes, "scrapes", usual.scrapes, "scrapes of each agent of M11")
	flags.IntVar(&o.requests, "requests", usual.requests, "requests of M13 in each of its ways; a hundredth as many new connections")
	flags.IntVar(&o.rounds, "rounds", 1, "how often M1, M2, M4, M5, M8 and M9 are measured; the result is the median")
	flags.DurationVar(&o.idle, "idle", 30*time.Second, "how long M3 observes the operator after a restart, and M11 an agent")
	flags.StringVar(&o.gate, "gate", gateAll, "what makes the exit status 1 when it is missed: all, or counts, which do not "+
		"depend on the machine")
	flags.DurationVar(&o.resync, "resync", time.Minute, "how often the caches deliver everything again in M3: "+
		"longer than the operator takes to reconcile everything")
	flags.StringVar(&o.jsonFile, "json", "", "file for all results")
	flags.StringVar(&o.updated, "update", "", "Markdown file in which the results replace the text between the markers")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.only, err = parseMetrics(*only); err != nil {
		return o, err
	}
	err = o.validate()
	return o, err
}

func parseMetrics(text string) ([]metric, error) {
	if text == "" {
		return allMetrics, nil
	}
	var metrics []metric
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(allMetrics, metric(name)) {
			return nil, fmt.Errorf("-only contains %q, which is none of %v", name, allMetrics)
		}
		metrics = append(metrics, metric(name))
	}
	return metrics, nil
}

func (o *options) validate() error {
	switch {
	case min(o.resources, o.large) < 20:
		return errors.New("-resources and -large must be at least 20")
	case min(o.statefulSets, o.monitored, o.secured, o.many, o.few, o.foreign, o.hostile, o.clients, o.cache/64, o.scrapes,
		o.requests, o.rounds) < 1:
		return errors.New("-statefulsets, -monitored, -secured, -many, -few, -foreign, -hostile, -clients, -scrapes, -requests and " +
			"-rounds must be at least 1, and -cache at least 64")
	case o.paced < 2 || o.nodes < 10 || o.nodes > 1000:
		return errors.New("-paced must be at least 2, and -nodes from 10 to 1000")
	case o.gate != gateAll && o.gate != gateCounts:
		return fmt.Errorf("-gate is %q, but must be %s or %s", o.gate, gateAll, gateCounts)
	case o.updated != "" && (len(o.only) < len(allMetrics) || o.numbers != usual):
		return errors.New("-update needs everything, in the usual numbers: leave out -only and every flag for a number of objects")
	}
	return nil
}
