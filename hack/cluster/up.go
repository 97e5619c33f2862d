// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Internal subcommands. The method start runs firstProcess as process 1 of new namespaces, and firstProcess starts secondProcess.
const (
	firstProcess  = "first-process"
	secondProcess = "boot"
)

// up starts the cluster. It returns when pods can run.
func (c *cluster) up(ctx context.Context) error {
	if c.firstPID() != 0 {
		fmt.Fprintf(c.out, "The cluster %s runs already.\n", c.name)
		c.printUse()
		return nil
	}
	// If an earlier cluster was not stopped with "down", for example because the machine was switched off, its files still exist.
	if err := c.remove(ctx); err != nil {
		return err
	}
	start := time.Now()
	if err := c.start(ctx); err != nil {
		log, _ := os.ReadFile(c.file("boot.log")) // if there is no log, err must suffice
		return errors.Join(fmt.Errorf("the cluster %s did not start: %w\n%s", c.name, err, log), c.remove(context.WithoutCancel(ctx)))
	}
	fmt.Fprintf(c.out, "The cluster %s is ready after %.0f s.\n", c.name, time.Since(start).Seconds())
	c.printUse()
	return nil
}

// start starts the first process in new namespaces, and prints what boot reports. It returns when the cluster is ready, or has failed.
func (c *cluster) start(ctx context.Context) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	log, err := os.Create(c.file("boot.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	progress, progressEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = progress.Close() }()
	if err := keepFiles(); err != nil {
		return err
	}
	first := exec.Command("/proc/self/exe", "--name", c.name, firstProcess)
	first.Stdout, first.Stderr = progressEnd, log
	first.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	err = first.Start()
	_ = progressEnd.Close() // the child has a copy
	if err != nil {
		return fmt.Errorf("making namespaces: %w", err)
	}
	if err := c.notePID(first.Process.Pid); err != nil {
		return errors.Join(err, first.Process.Kill(), first.Wait())
	}
	stop := context.AfterFunc(ctx, func() { _ = first.Process.Kill() })
	defer stop()
	if _, err := io.Copy(c.out, progress); err != nil {
		return errors.Join(err, first.Process.Kill(), first.Wait())
	}
	// boot closes its end of the pipe when the cluster is ready, or has failed. By then, this file exists only if the cluster is ready.
	if _, err := os.Stat(c.file("ready")); err != nil {
		return errors.Join(context.Cause(ctx), first.Wait())
	}
	return first.Process.Release()
}

func (c *cluster) printUse() {
	option := ""
	if c.name != "local" {
		option = " CLUSTER=" + c.name
	}
	image, _ := os.ReadFile(filepath.Join(c.root, "bin", "images", "operator")) // written by make cluster-up
	fmt.Fprintf(c.out, `  Deploy to it:         make cluster-exec%[1]s CMD="make deploy IMG=%[4]s"
  Run commands in it:   make cluster-exec%[1]s CMD="kubectl get pods -A"
  Open a shell in it:   make cluster-exec%[1]s CMD=bash
  Its KUBECONFIG works in there only: %[2]s
  Logs of components:   %[3]s/*.log
  End it:               make cluster-down%[1]s
`, option, c.kubeconfig(), c.dir, strings.TrimSpace(string(image)))
}

// keepFiles prevents child processes from inheriting the files that this process has inherited. Otherwise, the components would hold locks
// and pipes of the process that started the cluster.
func keepFiles() error {
	const first, last = 3, 1<<31 - 1
	return os.NewSyscallError("close_range", unix.CloseRange(first, last, unix.CLOSE_RANGE_CLOEXEC))
}
