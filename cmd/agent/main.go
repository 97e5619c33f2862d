// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// The agent observes memcached in the same pod: see package agent.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/example/memcached-operator/internal/agent"
)

const (
	// garbagePercent makes Go collect garbage early, because a scrape leaves some MiB of garbage, and memory is scarcer than
	// processor time.
	garbagePercent = 25
	// memoryLimit is how much memory Go may use before its garbage collector works harder. The container's limit is higher, at
	// least 24 MiB, because it also counts the program's code.
	memoryLimit = 14 << 20
	// processors is the largest number of processors that Go uses. It is enough for a few requests a minute. Without this number and
	// without a CPU limit, Go would use all processors of the cluster node, and each takes memory.
	processors = 2
)

// version is set by the build.
var version = "devel"

func main() {
	os.Exit(run())
}

// run returns the exit code.
func run() int {
	debug.SetGCPercent(garbagePercent)
	debug.SetMemoryLimit(memoryLimit)
	runtime.GOMAXPROCS(min(processors, runtime.GOMAXPROCS(0)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := agent.Run(ctx, os.Args[1:], version, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, agent.ErrUsage):
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 2
	default:
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
}
