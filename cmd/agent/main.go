// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// The agent that runs beside memcached in each pod: see package agent.
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
	// garbagePercent makes Go collect garbage early, because memory is scarcer than processor time: a scrape leaves some MiB of
	// garbage. The environment variable GOGC overrides it.
	garbagePercent = 25
	// memoryLimit makes the garbage collector work harder before the container reaches its limit, 24 MiB without credentials, which
	// also counts the program itself. The environment variable GOMEMLIMIT overrides it.
	memoryLimit = 14 << 20
	// processors is enough for a few requests a minute. Go would use all processors of the cluster node, and each costs memory. The
	// environment variable GOMAXPROCS overrides it.
	processors = 2
)

// version is set by the build.
var version = "devel"

func main() {
	os.Exit(run())
}

// run returns the exit code.
func run() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(processors, runtime.GOMAXPROCS(0)))
	}
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
