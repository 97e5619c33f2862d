// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// The launcher is the parent of memcached in its container: see package launcher.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/example/memcached-operator/internal/launcher"
)

func main() { os.Exit(run()) }

// run returns the exit code.
func run() int {
	// The kernel kills memcached when the thread that has started it ends.
	runtime.LockOSThread()
	debug.SetGCPercent(20)
	runtime.GOMAXPROCS(1)
	log := log.New(os.Stderr, "launcher: ", 0)
	if len(os.Args) == 3 && os.Args[1] == "install" {
		if err := launcher.Install(os.Args[2]); err != nil {
			log.Print(err)
			return 1
		}
		return 0
	}
	if len(os.Args) > 1 && os.Args[1] == "proxy" {
		return runProxy(os.Args[2:], log)
	}
	hostname, err := os.Hostname()
	if err != nil {
		log.Print(err)
		return 1
	}
	options, err := launcher.Parse(os.Args[1:], hostname, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		log.Print(err)
		return 2
	}
	code, err := launcher.Run(context.Background(), options, signals(), log)
	if err != nil {
		log.Print(err)
		tell(err)
	}
	return code
}

// tell writes the termination message, which the status of the Memcached quotes. The kubelet has created the file.
func tell(problem error) {
	file, err := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	_, _ = file.WriteString(problem.Error()) // the log has it too
	_ = file.Close()
}

// runProxy does the same in the container of a proxy.
func runProxy(args []string, log *log.Logger) int {
	options, err := launcher.ParseProxy(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		log.Print(err)
		return 2
	}
	code, err := launcher.RunProxy(context.Background(), options, signals(), log)
	if err != nil {
		log.Print(err)
	}
	return code
}

// signals returns those that a container gets.
func signals() <-chan os.Signal {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return signals
}
