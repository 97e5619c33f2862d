// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Demo shows in the terminal what the operator does, on the cluster of KUBECONFIG: it runs kubectl as a user would, waits until the
// cluster has reacted, and then leaves the cluster to the user until Ctrl-C. make demo starts the cluster and stops it. With -simulated,
// Demo starts and stops a simulated cluster itself, and tells a shorter story.
//
// If a step does not succeed in time, the demo fails and reports why. With DEMO_EXIT=1, it ends after the story.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/memcached-operator/test/apiclient"
)

// Exit statuses. If Ctrl-C ends the demo, it has succeeded. With DEMO_EXIT=1, it is interrupted instead, because the story is incomplete.
const (
	succeeded   = 0
	failed      = 1
	interrupted = 130
)

// suggestions are what users can type at the end.
const suggestions = `
kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml
kubectl get memc --watch
kubectl scale memc memcached-sample --replicas 4
kubectl describe memc memcached-sample
kubectl explain memc.spec
`

func main() { os.Exit(status()) }

func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	exit := os.Getenv("DEMO_EXIT") == "1"
	image := flag.String("image", "", "the operator's image")
	cluster := flag.String("cluster", "", "the name of the local cluster, for what users are told to type")
	onSimulated := flag.Bool("simulated", false, "start a simulated cluster")
	flag.Parse()
	d := &demo{out: newNarrator(os.Stdout, !exit), image: *image, exit: exit, logs: operatorLogs}
	var err error
	if *onSimulated {
		err = d.onSimulatedNodes(ctx)
	} else {
		err = d.tell(ctx, d.story(), "make cluster-exec CLUSTER="+*cluster+" CMD=bash     # a shell in which all of this works:")
	}
	switch {
	case ctx.Err() != nil && exit:
		d.out.title("Interrupted before the end of the story.")
		return interrupted
	case ctx.Err() != nil:
		return succeeded
	case err != nil:
		d.out.title("The demo failed: " + err.Error())
		return failed
	}
	return succeeded
}

// tell tells a story on the cluster of KUBECONFIG, and leaves the cluster to the user. shell is the command to begin with. If a chapter
// fails, tell shows what helps to find out why.
func (d *demo) tell(ctx context.Context, story []chapter, shell string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	if d.k8s, err = apiclient.New(config); err != nil {
		return err
	}
	for i, chapter := range story {
		d.out.title(fmt.Sprintf("%d/%d %s", i+1, len(story), chapter.title))
		for _, step := range chapter.steps {
			if err := step(ctx); err != nil {
				if ctx.Err() == nil {
					d.report(ctx)
				}
				return fmt.Errorf("step %d (%s): %w", i+1, chapter.title, err)
			}
		}
	}
	if !d.exit {
		d.out.title("That was the story. The cluster and the operator stay until Ctrl-C. In another terminal, try:")
		d.out.block(shell + suggestions + d.logs)
		<-ctx.Done()
	}
	return nil
}

func (d *demo) report(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // the cluster itself may have failed
	defer cancel()
	d.out.title("A step did not come true. This is what there is:")
	for _, command := range []string{
		"kubectl get statefulset,deployment,pods -o wide", "kubectl get events", "kubectl describe memc", d.logs + " | tail --lines 30",
	} {
		if err := d.shell(command)(ctx); err != nil {
			d.out.block(err.Error())
		}
	}
}

// poll waits until check finds nothing missing. Now and then, it prints what is missing.
func (d *demo) poll(ctx context.Context, check func(ctx context.Context) (missing string, err error)) error {
	const deadline, silence = 2 * time.Minute, 5 * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("not true within %s", deadline))
	defer cancel()
	told := time.Now()
	for {
		missing, err := check(ctx)
		if err == nil && missing == "" {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			missing = err.Error()
		}
		if time.Since(told) > silence {
			d.out.waits(missing)
			told = time.Now()
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New(missing), context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
