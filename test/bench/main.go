// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Bench measures the operator: how many requests it sends, how fast it is, and which resources it needs. "make bench" builds the
// necessary programs and runs Bench. Bench starts simulated clusters, and the operator as a process with the permissions of
// config/rbac and the flags of config/manager. It prints a table, and exits with 1 if a value exceeds its limit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// deadline limits the time of one part. A machine with 2 CPUs needs about a third of it, with 10,000 resources.
const deadline = time.Hour

// part is a part of the benchmark. Each can run alone.
type part struct {
	name    string
	measure func(context.Context, *bench)
}

var parts = []part{
	{"requests", onTestbed((*bench).requests)},
	{"ready", onTestbed((*bench).ready)},
	{"resources", onTestbed((*bench).resources)},
	{"takeover", onTestbed((*bench).takeover)},
}

type bench struct {
	// many is the number of Memcacheds in the part "resources".
	many int
	// part is the name of the current part.
	part string
	// exceeded means that a value has exceeded its limit.
	exceeded bool
}

func main() {
	ctrl.SetLogger(logr.Discard()) // otherwise the benchmark's own clients would log
	b := &bench{}
	only := flag.String("only", "", "the parts to measure, such as requests,takeover; empty for all")
	flag.IntVar(&b.many, "resources", usualMany, "Memcacheds of the part resources")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := b.run(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, only string) error {
	wanted := parts
	if only != "" {
		names := strings.Split(only, ",")
		wanted = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !slices.Contains(names, p.name) })
		if len(wanted) != len(names) {
			return fmt.Errorf("-only is %q, but only %d of these parts exist", only, len(wanted))
		}
	}
	fmt.Fprintf(os.Stdout, "%s, %d CPUs (%s/%s)\n\n| part | name | value | limit | ok |\n|---|---|---|---|---|\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	for _, p := range wanted {
		b.part = p.name
		limited, cancel := context.WithTimeoutCause(ctx, deadline, errors.New("it takes too long"))
		err := attempt(func() { p.measure(limited, b) })
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if b.exceeded {
		return errors.New("a value exceeds its limit")
	}
	return nil
}

// add adds a row to the table, which is Markdown, so that docs/benchmarks.md can take it.
func (b *bench) add(name, unit string, value float64) { b.print(name, unit, value, "", "") }

// hold adds a value that must not exceed a limit.
func (b *bench) hold(name, unit string, value, limit float64) {
	ok := "yes"
	if value > limit {
		ok, b.exceeded = "NO", true
	}
	b.print(name, unit, value, number(limit), ok)
}

func (b *bench) print(name, unit string, value float64, limit, ok string) {
	fmt.Fprintf(os.Stdout, "| %s | %s | %s %s | %s | %s |\n", b.part, name, number(value), unit, limit, ok)
}

func number(value float64) string {
	if value >= 100 {
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.3g", value)
}

// percentile returns the smallest of the values that is at least as large as p percent of them.
func percentile(values []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(1, (p*len(sorted)+99)/100)-1]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
		check(context.Cause(ctx))
	case <-time.After(d):
	}
}

// stepError is the panic that ends a measurement after an error. Measurements have too many steps to return each error.
type stepError struct{ error }

func check(err error) {
	if err != nil {
		panic(stepError{err})
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

// attempt runs a measurement or a part of it. If the function check ends the measurement, attempt returns the error.
func attempt(measure func()) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case stepError:
			err = reason.error
		default:
			panic(reason)
		}
	}()
	measure()
	return nil
}
