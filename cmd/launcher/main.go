// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// The launcher is the parent process of memcached in its container: see package launcher.
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
	// memcached is killed when the thread that started it ends (PR_SET_PDEATHSIG). So this goroutine keeps its thread.
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
		options, err := launcher.ParseProxy(os.Args[2:], os.Stderr)
		return container(log, err, func() (int, error) {
			return launcher.RunProxy(context.Background(), options, signals(), log)
		})
	}
	hostname, err := os.Hostname()
	if err != nil {
		log.Print(err)
		return 1
	}
	options, err := launcher.Parse(os.Args[1:], hostname, os.Stderr)
	return container(log, err, func() (int, error) {
		return launcher.Run(context.Background(), options, signals(), log)
	})
}

// container returns the exit code of a container's program. The argument mistake is the error from parsing the flags. If it is nil,
// container calls run.
func container(log *log.Logger, mistake error, run func() (int, error)) int {
	switch {
	case errors.Is(mistake, flag.ErrHelp):
		return 0
	case mistake != nil:
		log.Print(mistake)
		return 2
	}
	code, err := run()
	if err != nil {
		log.Print(err)
		tell(err)
	}
	return code
}

// tell writes the termination message, which the status of the Memcached or MemcachedProxy quotes. The kubelet has created the file.
func tell(problem error) {
	file, err := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	// Errors are ignored, because the log also has the message.
	_, _ = file.WriteString(problem.Error())
	_ = file.Close()
}

// signals returns a channel of the signals that the launcher handles. SIGTERM and SIGINT end the container. SIGHUP makes
// memcached read its certificates and users again.
func signals() <-chan os.Signal {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return signals
}
