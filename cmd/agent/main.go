// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// The agent is the program of the operator in the pods. Its first argument is its role: "node" and "proxy" are the parent process of
// memcached (package parent), "sidecar" is what runs beside memcached (package sidecar), and "install" copies the program to a file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/example/memcached-operator/internal/agent/parent"
	"github.com/example/memcached-operator/internal/agent/sidecar"
)

// version is set by the build.
var version = "devel"

func main() {
	os.Exit(run(os.Args[1:]))
}

// run returns the exit code.
func run(args []string) int {
	if len(args) == 0 {
		args = []string{""}
	}
	logger := log.New(os.Stderr, "agent: ", 0)
	var code int
	var err error
	switch role, rest := args[0], args[1:]; role {
	case "node":
		code, err = runNode(rest, logger)
	case "proxy":
		code, err = runProxy(rest, logger)
	case "sidecar":
		code, err = runSidecar(rest)
	case "install":
		code, err = install(rest)
	default:
		code, err = 2, fmt.Errorf("the role is %q, but must be node, proxy, sidecar or install", role)
	}
	switch {
	case err == nil:
		return code
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, parent.ErrUsage), errors.Is(err, sidecar.ErrUsage):
		code = 2
	}
	logger.Print(err)
	return code
}

func install(args []string) (int, error) {
	if len(args) != 1 {
		return 2, errors.New("usage: agent install FILE")
	}
	if err := parent.Install(args[0]); err != nil {
		return 1, err
	}
	return 0, nil
}

// garbagePercent makes Go collect garbage early, because memory is scarcer than processor time.
const garbagePercent = 20

func runNode(args []string, log *log.Logger) (int, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return 1, err
	}
	options, err := parent.Parse(args, hostname, os.Stderr)
	if err != nil {
		return 0, err
	}
	return told(func(signals <-chan os.Signal) (int, error) {
		return parent.Run(context.Background(), options, signals, log)
	})
}

func runProxy(args []string, log *log.Logger) (int, error) {
	options, err := parent.ParseProxy(args, os.Stderr)
	if err != nil {
		return 0, err
	}
	return told(func(signals <-chan os.Signal) (int, error) {
		return parent.RunProxy(context.Background(), options, signals, log)
	})
}

// told runs a parent of memcached. It passes on the signals that a parent handles: SIGTERM and SIGINT end the container, and on SIGHUP,
// memcached reads its certificates and users again. An error becomes the termination message, which the status of the resource quotes.
func told(run func(signals <-chan os.Signal) (int, error)) (int, error) {
	// memcached is killed when the thread that started it ends (PR_SET_PDEATHSIG). So this goroutine keeps its thread.
	runtime.LockOSThread()
	debug.SetGCPercent(garbagePercent)
	runtime.GOMAXPROCS(1)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	code, err := run(signals)
	if err == nil {
		return code, nil
	}
	// The kubelet has created the file. Errors are ignored, because the log also has the message.
	if file, failed := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_TRUNC, 0); failed == nil {
		_, _ = file.WriteString(err.Error())
		_ = file.Close()
	}
	return code, err
}

func runSidecar(args []string) (int, error) {
	const (
		// memoryLimit is how much memory Go may use before its garbage collector works harder. The container's limit is higher, at least
		// 24 MiB, because it also counts the program's code.
		memoryLimit = 14 << 20
		// processors is the largest number of processors that Go uses. It is enough for a few requests a minute. Without a CPU limit, Go
		// would use all processors of the cluster node, and each takes memory.
		processors = 2
	)
	debug.SetGCPercent(garbagePercent)
	debug.SetMemoryLimit(memoryLimit)
	runtime.GOMAXPROCS(min(processors, runtime.GOMAXPROCS(0)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := sidecar.Run(ctx, args, version, os.Stderr); err != nil {
		return 1, err
	}
	return 0, nil
}
