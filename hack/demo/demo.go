// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/apiclient"
	"github.com/example/memcached-operator/test/await"
)

const (
	namespace = "default"
	// stepDeadline is how long a step may wait.
	stepDeadline = time.Minute
)

// errTooLate is the error of a step that has waited for stepDeadline.
var errTooLate = fmt.Errorf("not true within %s", stepDeadline)

// The suggestions at the end of the story.
const (
	whatNext    = "That was the story. The cluster and the operator stay until Ctrl-C. In another terminal, try:"
	suggestions = `
kubectl apply -f ` + sampleFile + `
kubectl get memc --watch
kubectl scale ` + sampleCommand + ` --replicas 4
kubectl describe ` + sampleCommand + `
kubectl explain memc.spec`
)

// stage is the cluster in which the story takes place, with its operator.
type stage interface {
	// name describes the cluster.
	name() string
	// opening returns the first chapters of the story. After them, the operator runs and the demo's client is connected.
	opening() []chapter
	// watch calls the function fail if the cluster or the operator ends before the context does.
	watch(ctx context.Context, fail func(error))
	// servesData reports whether the nodes run a real memcached.
	servesData() bool
	// logCommand returns the command that shows the end of the operator's log, or "" if there is no log yet.
	logCommand() string
	// stay prints what users can do with the cluster, and returns on Ctrl-C.
	stay(ctx context.Context, d *demo) error
	// stop ends everything that the stage has started.
	stop() error
}

// demo is the state of the story.
type demo struct {
	out   *narrator
	stage stage
	// k8s is the demo's client. It is nil until the cluster answers.
	k8s client.WithWatch
	// env is added to the environment of the commands.
	env []string
	// mc is the Memcached of the story as it was last read.
	mc *cachev1alpha1.Memcached
}

// step is a part of a chapter.
type step = func(ctx context.Context) error

func inOrder(ctx context.Context, steps ...step) error {
	for _, do := range steps {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) connect(config *rest.Config) (err error) {
	d.k8s, err = apiclient.New(config)
	return err
}

// until waits until check finds nothing missing. It fails after stepDeadline, or as soon as the cluster or the operator ends.
func (d *demo) until(ctx context.Context, check await.Check) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stepDeadline, errTooLate)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go d.stage.watch(ctx, fail)
	kinds := []client.ObjectList{&cachev1alpha1.MemcachedList{}}
	for _, kind := range ownedKinds() {
		kinds = append(kinds, kind.list)
	}
	defer d.out.await("")
	return await.Until(ctx, d.k8s, func(ctx context.Context) (string, error) {
		missing, err := check(ctx)
		d.out.await(missing)
		return missing, err
	}, kinds, client.InNamespace(namespace))
}

func (d *demo) outcome(format string, args ...any) step {
	return func(context.Context) error {
		d.out.outcome(format, args...)
		return nil
	}
}

func (d *demo) runs(command string) step {
	return func(ctx context.Context) error { return d.run(ctx, command) }
}

func (d *demo) run(ctx context.Context, command string) error {
	d.out.command(command)
	shell := exec.CommandContext(ctx, "sh", "-c", command)
	shell.Env = append(os.Environ(), d.env...)
	output, err := shell.CombinedOutput()
	d.out.block(string(output))
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}
