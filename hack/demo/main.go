// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Demo shows in the terminal what the operator does. It runs kubectl as a user would, and waits until the cluster has reacted. It
// then leaves the cluster to the user until Ctrl-C. make demo builds and runs this command. By default, it starts a simulated
// cluster. With --deploy IMAGE, it uses the cluster of KUBECONFIG, and deploys the operator with that image to it.
//
// If a step does not succeed in time, the demo fails and reports why. With DEMO_EXIT=1, it ends after the story. On a terminal, it pauses
// so that users can read, unless DEMO_EXIT is 1 or CI is set.
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

// Paths relative to the root of the repository, in which make demo runs the demo.
const (
	controlPlaneDir = "bin/kubernetes"
	sampleFile      = "config/samples/cache_v1alpha1_memcached.yaml"
)

// Exit statuses. If Ctrl-C ends the demo, the exit status is "succeeded". With DEMO_EXIT=1, it is "interrupted" instead, because the
// story is incomplete.
const (
	succeeded   = 0
	failed      = 1
	interrupted = 130
)

func main() { os.Exit(status()) }

func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// If the output is closed, the demo must still run on and clean up.
	signal.Ignore(syscall.SIGPIPE)
	exit := os.Getenv("DEMO_EXIT") == "1"
	d := &demo{out: newNarrator(ctx, os.Stdout, exit, os.Getenv), stage: &simulatedStage{}}
	image := flag.String("deploy", "", "the operator's image; without it a simulated cluster is started")
	cluster := flag.String("cluster", "", "the name of the local cluster, for what users are told to type")
	flag.Parse()
	if *image != "" {
		d.stage = &realStage{image: *image, cluster: *cluster}
	}
	err := run(ctx, d, exit)
	return d.end(err, d.stage.stop(), ctx.Err() != nil, exit)
}

// end reports how the demo ended and returns the exit status.
func (d *demo) end(err, stopErr error, canceled, exit bool) int {
	switch {
	case stopErr != nil:
		d.out.title("The demo could not remove everything: " + errors.Join(stopErr, err).Error())
		return failed
	case err == nil:
		return succeeded
	case !canceled || !errors.Is(err, context.Canceled):
		d.out.title("The demo failed: " + err.Error())
		return failed
	case exit:
		d.out.title("Interrupted before the end of the story.")
		return interrupted
	default:
		return succeeded
	}
}

// run tells the story. It then leaves the cluster to the user, unless exit is set.
func run(ctx context.Context, d *demo, exit bool) error {
	d.out.title("The Memcached operator on " + d.stage.name() + ". All of it runs on this machine and is gone in the end.")
	if err := tellStory(ctx, d); err != nil || exit {
		return err
	}
	return d.stage.stay(ctx, d)
}

func tellStory(ctx context.Context, d *demo) error {
	telling, stop := context.WithCancel(ctx)
	defer stop()
	go d.out.breakSilence(telling)
	chapters := story(d.stage)
	for i, chapter := range chapters {
		d.out.chapter(i+1, len(chapters), chapter.title)
		if err := chapter.tell(ctx, d); err != nil {
			if ctx.Err() != nil {
				return ctx.Err() // err may come from a command that Ctrl-C has ended
			}
			d.report(ctx)
			return fmt.Errorf("step %d (%s): %w", i+1, chapter.title, err)
		}
	}
	return nil
}
