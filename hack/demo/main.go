// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Demo shows in the terminal what the operator does: it acts as a user of kubectl, waits until the cluster has followed, and
// shows the output of kubectl. Then it leaves the cluster to the user until Ctrl-C. make demo builds and runs it: on a simulated
// cluster that it starts itself, or, with --deploy IMAGE, on the cluster of KUBECONFIG, to which it deploys the operator with
// that image.
//
// With DEMO_EXIT=1 it ends with the story. It fails when a step does not come true, and reports why.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// make demo runs the demo in the root of the repository, with these files.
const (
	controlPlaneDir = "bin/kubernetes"
	sampleFile      = "config/samples/cache_v1alpha1_memcached.yaml"
)

// interrupted is the exit status after Ctrl-C.
const interrupted = 130

func main() { os.Exit(status()) }

// status runs the demo, prints why it failed and returns the exit status.
func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// If nobody reads the output any more, the demo must still clean up.
	signal.Ignore(syscall.SIGPIPE)
	d := &demo{out: newNarrator(os.Stdout), stage: &simulatedStage{}}
	image := flag.String("deploy", "", "the operator's image; without it a simulated cluster is started")
	cluster := flag.String("cluster", "", "the name of the local cluster, for what users are told to type")
	flag.Parse()
	if *image != "" {
		d.stage = &realStage{image: *image, cluster: *cluster}
	}
	err := run(ctx, d, os.Getenv("DEMO_EXIT") == "1")
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "Interrupted: everything is stopped and removed.")
		return interrupted
	default:
		fmt.Fprintln(os.Stderr, "The demo failed:", err)
		return 1
	}
}

// run tells the story and stops everything that it has started.
func run(ctx context.Context, d *demo, exit bool) (err error) {
	defer func() { err = errors.Join(err, d.stage.stop()) }()

	d.out.title("The Memcached operator on " + d.stage.name() + ". All of it runs on this machine and is gone in the end.")
	chapters := story(d.stage)
	for i, chapter := range chapters {
		d.out.chapter(i+1, len(chapters), chapter.title)
		if err := chapter.tell(ctx, d); err != nil {
			if ctx.Err() == nil {
				d.report(ctx)
			}
			return fmt.Errorf("step %d (%s): %w", i+1, chapter.title, err)
		}
	}
	if exit {
		return nil
	}
	return d.stage.stay(ctx, d)
}
