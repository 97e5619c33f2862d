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
	// The kernel kills memcached when the thread that started memcached ends (PR_SET_PDEATHSIG).
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
		code, err := launcher.Run(context.Background(), options, signals(), log)
		if err != nil {
			tell(err)
		}
		return code, err
	})
}

// container runs a container after its flags were parsed. mistake is the error of parsing.
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
	}
	return code
}

// tell writes the termination message, which the status of the Memcached quotes. The kubelet has created the file.
func tell(problem error) {
	file, err := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	// Errors are ignored: the log has the message too.
	_, _ = file.WriteString(problem.Error())
	_ = file.Close()
}

// signals returns the signals that can end the container.
func signals() <-chan os.Signal {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return signals
}
