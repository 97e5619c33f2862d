// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Bench measures the operator: how many requests it sends, how fast it is compared with a client that does only what must
// be done, and what it needs. make bench builds what it needs and runs it: on simulated clusters that it starts itself, with
// the operator as a process that has the permissions of config/rbac and the flags of config/manager. docs/benchmarks.md
// defines what is measured.
//
// It exits with 1 when a value is not within its threshold, after everything has been measured, and with 2 when something
// could not be measured.
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
	ctrl.SetLogger(logr.Discard()) // of its own clients
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	b := &bench{options: o, out: os.Stdout, began: time.Now(), seconds: map[string][]float64{}}
	failure := b.run(ctx)
	if err := errors.Join(failure, b.publish(failure == nil)); err != nil {
		fmt.Fprintln(os.Stderr, "The benchmark failed:", err)
		return exitFailed
	}
	if failed := b.report.missed(o.gate == gateCounts); len(failed) > 0 {
		fmt.Fprintf(os.Stderr, "%d of %d values are not within their thresholds.\n", len(failed), len(b.report.Results))
		return exitMissed
	}
	return 0
}

// What makes the exit status non-zero.
const (
	gateAll    = "all"
	gateCounts = "counts"
)

// options are the flags.
type options struct {
	only                             []metric
	resources, more, large, foreign  int
	rounds                           int
	idle                             time.Duration
	gate, jsonFile, updated, command string
}

func parseOptions(args []string) (options, error) {
	o := options{command: strings.Join(args, " ")}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "what to measure, such as M1,M4; empty for everything")
	flags.IntVar(&o.resources, "resources", 1000, "Memcacheds of M1, M2, M4, M5 and M8")
	flags.IntVar(&o.more, "more", 5000, "Memcacheds of a second comparison in M4; 0 leaves it out")
	flags.IntVar(&o.large, "large", 10000, "Memcacheds of M3, M6 and M7")
	flags.IntVar(&o.foreign, "foreign", 20000, "pods and Deployments of others in M7")
	flags.IntVar(&o.rounds, "rounds", 1, "how often M1, M2, M4, M5 and M8 are measured; the result is the median")
	flags.DurationVar(&o.idle, "idle", 30*time.Second, "how long M3 looks on after a restart")
	flags.StringVar(&o.gate, "gate", gateAll, "what makes the exit status 1 when it is missed: all, or counts, which do not "+
		"depend on the machine")
	flags.StringVar(&o.jsonFile, "json", "", "file to write all results to")
	flags.StringVar(&o.updated, "update", "", "Markdown file whose part between the markers becomes the results")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.only = allMetrics
	if *only != "" {
		o.only = nil
		for name := range strings.SplitSeq(*only, ",") {
			o.only = append(o.only, metric(name))
		}
	}
	err := o.validate()
	return o, err
}

func (o *options) validate() error {
	for _, m := range o.only {
		if !slices.Contains(allMetrics, m) {
			return fmt.Errorf("-only names %q, which is none of %v", m, allMetrics)
		}
	}
	switch {
	case o.resources < 20 || o.large < 20:
		return errors.New("-resources and -large must be at least 20")
	case o.more < 0 || o.foreign < 1 || o.rounds < 1:
		return errors.New("-foreign and -rounds must be at least 1, and -more not negative")
	case o.gate != gateAll && o.gate != gateCounts:
		return fmt.Errorf("-gate is %q, but must be %s or %s", o.gate, gateAll, gateCounts)
	case o.updated != "" && len(o.only) < len(allMetrics):
		return errors.New("-update needs everything: leave out -only")
	}
	return nil
}
