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

// The commands that up starts in the new namespaces: the first becomes their process 1 and starts the second.
const (
	firstProcess  = "first-process"
	secondProcess = "boot"
)

// up starts the cluster and returns when pods can run on it.
func (c *cluster) up(ctx context.Context) error {
	if c.firstPID() != 0 {
		fmt.Fprintf(c.out, "The cluster %s runs already.\n", c.name)
		c.printUse()
		return nil
	}
	// What a cluster has left that ended without down, because the machine was switched off for example.
	if err := c.remove(ctx); err != nil {
		return err
	}
	start := time.Now()
	if err := c.start(ctx); err != nil {
		log, _ := os.ReadFile(c.file("boot.log")) // if there is none, the error is all there is
		return errors.Join(fmt.Errorf("the cluster %s did not start: %w\n%s", c.name, err, log), c.remove(context.WithoutCancel(ctx)))
	}
	fmt.Fprintf(c.out, "The cluster %s is ready after %.0f s.\n", c.name, time.Since(start).Seconds())
	c.printUse()
	return nil
}

// start starts the first process in new namespaces, passes on what the boot reports and returns when it is complete.
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
	_ = progressEnd.Close() // the child has its own
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
	// The boot closes its end of the pipe when all is done; if it has not left the file, it has ended instead.
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
	image, _ := os.ReadFile(filepath.Join(c.root, "bin", "images", "operator")) // make cluster-up has written it
	fmt.Fprintf(c.out, `  Deploy to it:         make cluster-exec%[1]s CMD="make deploy IMG=%[4]s"
  Run commands in it:   make cluster-exec%[1]s CMD="kubectl get pods -A"
  Open a shell in it:   make cluster-exec%[1]s CMD=bash
  Its KUBECONFIG works in there only: %[2]s
  Logs of components:   %[3]s/*.log
  End it:               make cluster-down%[1]s
`, option, c.kubeconfig(), c.dir, strings.TrimSpace(string(image)))
}

// keepFiles lets no process that this one starts inherit the files that it has inherited: the components of a cluster would hold the
// locks and pipes of whoever has started it.
func keepFiles() error {
	const first, last = 3, 1<<31 - 1
	return os.NewSyscallError("close_range", unix.CloseRange(first, last, unix.CLOSE_RANGE_CLOEXEC))
}
