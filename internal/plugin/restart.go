// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

type restartCommand struct {
	*session

	wait    bool
	timeout time.Duration
}

const restartLong = `Restart the nodes of a cache, one after the other, by setting spec.restartedAt. A Deployment gets new pods,
which are empty and adopt newer defaults of the operator. In a StatefulSet, memcached restarts in its pod, and
with storage.type MemoryFile keeps its items.

The command says what that costs and asks. Then it waits until every node has restarted. Interrupting it does
not stop the restart. If your manifests are in Git, write spec.restartedAt there instead.`

const restartExamples = `  # After a question
  kubectl memcached restart sessions

  # Without a question, and without waiting for the end
  kubectl memcached restart sessions --yes --wait=false`

func newRestartCommand(s *session) *cobra.Command {
	o := &restartCommand{session: s}
	command := &cobra.Command{
		Use:     "restart NAME",
		Short:   "Restart the nodes of a cache, one after the other",
		Long:    restartLong,
		Example: restartExamples,
		Args:    cobra.ExactArgs(1),
		RunE:    func(command *cobra.Command, args []string) error { return o.run(command.Context(), args[0]) },
	}
	command.Flags().BoolVarP(&s.yes, "yes", "y", false, "Do not ask")
	command.Flags().BoolVar(&o.wait, "wait", true, "Wait until every node has restarted")
	command.Flags().DurationVar(&o.timeout, "timeout", 0, "How long to wait; 0 is until the end")
	return command
}

func (o *restartCommand) run(ctx context.Context, name string) error {
	c, mc, err := o.open(ctx, name)
	if err != nil {
		return err
	}
	if mc.Spec.Paused {
		return fmt.Errorf("spec.paused of %s/%s holds changes back: set it to false first", mc.Namespace, mc.Name)
	}
	pods, err := c.pods(ctx, mc)
	if err != nil {
		return err
	}
	items, failures := o.countItems(ctx, c, mc, pods)
	if err := o.confirm(ctx, restartCost(mc, items, errors.Join(failures...) == nil)); err != nil {
		return err
	}
	if err := o.restart(ctx, c, mc); err != nil {
		return err
	}
	if !o.wait {
		fmt.Fprintf(o.Out, "restarting %s/%s\n", mc.Namespace, mc.Name)
		return nil
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		tooLong := fmt.Errorf("not all nodes have restarted within %s: the restart goes on", o.timeout)
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, tooLong)
		defer cancel()
	}
	if err := o.follow(ctx, c, mc); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "restarted %s/%s\n", mc.Namespace, mc.Name)
	return nil
}

// restartCost tells the user what is lost when every node restarts. complete is false if some nodes have not said how many items they
// have.
func restartCost(mc *cachev1alpha1.Memcached, items int64, complete bool) string {
	what := fmt.Sprintf("all %d items", items)
	if !complete {
		what = fmt.Sprintf("all items, at least %d,", items)
	}
	how := "restarts memcached in the pods"
	cost := "are lost, node by node. spec.updateStrategy.minReadySeconds gives each node time to fill before the next one leaves."
	degraded := apimeta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded)
	switch from := memcached.FillsFrom(mc); {
	case mc.Spec.Workload != cachev1alpha1.WorkloadStatefulSet:
		how, cost = "replaces the pods", cost+" Each new node has a new address."
	case from != "" && (degraded == nil || degraded.Reason != cachev1alpha1.ReasonTwinUnusable):
		cost = fmt.Sprintf("come back from %s, where it has a node of the same number: each node copies them before it is ready.", from)
	case mc.Spec.Storage.Type == cachev1alpha1.StorageMemoryFile:
		cost = "are kept. A node is away for a second or two. What clients delete there meanwhile stays in the cache."
	}
	return fmt.Sprintf("This %s of the %d nodes of %s/%s, one after the other: %s %s", how, mc.Spec.Size, mc.Namespace, mc.Name, what, cost)
}

// restart sets spec.restartedAt to the current second. If the former value is not earlier, restart adds a second to that value
// instead.
func (o *restartCommand) restart(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) error {
	before := mc.DeepCopy()
	now := o.clock.Now().UTC().Truncate(time.Second)
	if former := mc.Spec.RestartedAt; former != nil && !former.Time.Before(now) {
		now = former.Time.UTC().Add(time.Second)
	}
	mc.Spec.RestartedAt = &metav1.Time{Time: now}
	return c.Patch(ctx, mc, client.MergeFrom(before), client.FieldOwner("kubectl-memcached"))
}

// follow waits until the operator reports that the restart is complete, and prints each step.
func (o *restartCommand) follow(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) error {
	changed, uid, shown := mc.Generation, mc.UID, ""
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-o.clock.After(o.pollPeriod):
		}
		err := c.Get(ctx, client.ObjectKeyFromObject(mc), mc)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("cannot follow the restart: %w", err)
		case mc.UID != uid:
			return errors.New("the restart cannot go on: somebody has deleted the Memcached and created it again")
		case mc.Spec.Paused:
			return errors.New("the restart cannot go on: spec.paused holds it back")
		}
		line, done, stuck := restartProgress(mc, changed)
		if line != shown {
			fmt.Fprintln(o.ErrOut, printers.EscapeTerminal(line))
			shown = line
		}
		switch {
		case done:
			return nil
		case stuck:
			return errors.New("the restart cannot go on")
		}
	}
}

// restartProgress describes the progress of the restart in one line, and reports whether it is complete or stuck. A Memcached that is
// Degraded is not stuck: it may recover, for example when a broken node restarts.
func restartProgress(mc *cachev1alpha1.Memcached, generation int64) (line string, done, stuck bool) {
	is := func(condition string) bool { return apimeta.IsStatusConditionTrue(mc.Status.Conditions, condition) }
	ready := apimeta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration < generation {
		return "waiting for the operator", false, false
	}
	line = fmt.Sprintf("%d of %d nodes have restarted, %d are ready: %s",
		mc.Status.UpdatedReplicas, mc.Spec.Size, mc.Status.ReadyReplicas, ready.Reason)
	stalled := is(cachev1alpha1.ConditionStalled)
	if stalled {
		line += ": " + ready.Message // helps the user decide whether to go on waiting
	}
	return line, ready.Status == metav1.ConditionTrue, stalled && !is(cachev1alpha1.ConditionDegraded)
}
