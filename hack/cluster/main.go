// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Cluster runs a single-node Kubernetes cluster on a Linux machine, as root: etcd, the control plane, a kubelet with containerd and
// runc, CoreDNS and an image registry. Each cluster has its own network, mount and process namespaces. It therefore cannot reach
// the machine's network, and several clusters can run side by side. When the first process in the namespaces ends, the kernel ends
// all other processes in them. The make targets cluster-up, cluster-exec and cluster-down build what the cluster needs, and call
// this command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"syscall"
)

const usage = `Usage: cluster [--name NAME] up | down | exec COMMAND [ARGUMENT...]

  up    starts the cluster, or does nothing if it runs
  exec  runs a command in the namespaces of the cluster, with its kubectl and KUBECONFIG
  down  ends the cluster and removes everything that it has left
`

// Exit statuses of this command. With "exec", the exit status is that of the executed command.
const (
	failed      = 1
	misused     = 2
	interrupted = 130
)

// validName matches names that are valid for a file, a cgroup and a host.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

func main() { os.Exit(status()) }

func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	name := flags.String("name", "local", "the cluster's name; each name is a cluster of its own")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return misused
	}
	if !validName.MatchString(*name) {
		fmt.Fprintf(os.Stderr, "The name %q must be lower-case letters, digits and dashes, at most 32.\n", *name)
		return misused
	}
	err := run(ctx, *name, flags.Args())
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		return misused
	case flags.Arg(0) == "exec" && errors.As(err, &ended) && ended.Exited():
		return ended.ExitCode()
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "Interrupted.")
		return interrupted
	default:
		fmt.Fprintln(os.Stderr, err)
		return failed
	}
}

var errUsage = errors.New("wrong usage")

func run(ctx context.Context, name string, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	c, err := open(name)
	if err != nil {
		return err
	}
	switch command, rest := args[0], args[1:]; {
	case command == "exec" && len(rest) > 0:
		return c.exec(ctx, rest)
	case len(rest) > 0:
		return errUsage
	case command == "up":
		return c.up(ctx)
	case command == "down":
		return c.down(context.WithoutCancel(ctx)) // half of it would leave the other half behind
	case command == firstProcess:
		return reap(name)
	case command == secondProcess:
		return c.boot(ctx)
	default:
		return errUsage
	}
}
