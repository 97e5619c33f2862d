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
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

type restartCommand struct {
	*session

	yes     bool
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
		Use:               "restart NAME",
		Short:             "Restart the nodes of a cache, one after the other",
		Long:              restartLong,
		Example:           restartExamples,
		Args:              exactly("NAME"),
		ValidArgsFunction: s.completeNames,
		RunE:              o.run,
	}
	bindYes(command, &o.yes)
	s.bindUser(command)
	command.Flags().BoolVar(&o.wait, "wait", true, "Wait until every node has restarted")
	command.Flags().DurationVar(&o.timeout, "timeout", 0, "How long to wait; 0 is until the end")
	return command
}

func (o *restartCommand) run(command *cobra.Command, args []string) error {
	ctx := command.Context()
	c, mc, err := o.open(ctx, args[0])
	if err != nil {
		return err
	}
	if mc.Spec.Paused {
		return fmt.Errorf("spec.paused of %s/%s holds changes back: set it to false first", mc.Namespace, mc.Name)
	}
	items, err := o.items(ctx, c, mc)
	if err != nil {
		return err
	}
	source, err := c.source(ctx, mc)
	if err != nil {
		return err
	}
	if err := o.confirm(ctx, restartCost(mc, source, items), o.yes); err != nil {
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

// source returns the Memcached from which the nodes copy items, or nil if there is none.
func (c *cluster) source(ctx context.Context, mc *cachev1alpha1.Memcached) (*cachev1alpha1.Memcached, error) {
	from := fillsFrom(mc)
	if from == "" {
		return nil, nil //nolint:nilnil // most caches have none
	}
	var source cachev1alpha1.Memcached
	if err := c.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: from}, &source); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &source, nil
}

// items says in words how many items the nodes hold. Nodes with users reveal this number only after a login.
func (o *restartCommand) items(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) (string, error) {
	pods, err := c.pods(ctx, mc)
	if err != nil {
		return "", err
	}
	var sum int64
	counts, failures := o.countItems(ctx, c, inUse(pods))
	for _, count := range counts {
		sum += count
	}
	return countOfItems(sum, errors.Join(failures...) == nil), nil
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

// follow waits until the operator reports that the restart is complete, and prints each step. It gives up if nothing can complete the
// restart any more.
func (o *restartCommand) follow(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) error {
	changed, uid, shown := mc.Generation, mc.UID, ""
	var still standstill
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
		line, done := restartProgress(mc, changed)
		if line != shown {
			fmt.Fprintln(o.ErrOut, printable(line))
			shown = line
		}
		if done {
			return nil
		}
		if reason := still.givesUp(mc, changed, o.clock.Now()); reason != "" {
			return errors.New("the restart cannot go on: " + reason)
		}
	}
}

// reportedReady returns the condition Ready, or nil while the operator has not seen this generation.
func reportedReady(mc *cachev1alpha1.Memcached, generation int64) *metav1.Condition {
	ready := apimeta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration < generation {
		return nil
	}
	return ready
}

// restartProgress describes the progress of the restart in one line, and reports whether it is complete.
func restartProgress(mc *cachev1alpha1.Memcached, generation int64) (line string, done bool) {
	ready := reportedReady(mc, generation)
	switch {
	case ready == nil:
		return "waiting for the operator", false
	case ready.Status == metav1.ConditionTrue:
		return fmt.Sprintf("%d of %d nodes have restarted and are ready", mc.Status.UpdatedReplicas, mc.Spec.Size), true
	}
	line = fmt.Sprintf("%d of %d nodes have restarted, %d are ready: %s",
		mc.Status.UpdatedReplicas, mc.Spec.Size, mc.Status.ReadyReplicas, ready.Reason)
	if apimeta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionStalled) {
		line += ": " + ready.Message // helps the user decide whether to go on waiting
	}
	return line, false
}

// standstill records since when a Stalled restart has made no progress, and the numbers of updated and ready nodes at that time.
type standstill struct {
	since          time.Time
	updated, ready int32
}

// givesUp returns why waiting is useless, or an empty text while the restart may continue. It gives up at once if the Memcached is
// Stalled but not Degraded. A Degraded Memcached may recover, for example when a broken node restarts: then givesUp waits until
// nothing has changed for the whole progress deadline.
func (s *standstill) givesUp(mc *cachev1alpha1.Memcached, generation int64, now time.Time) string {
	ready, conditions, status := reportedReady(mc, generation), mc.Status.Conditions, &mc.Status
	if ready == nil || !apimeta.IsStatusConditionTrue(conditions, cachev1alpha1.ConditionStalled) {
		*s = standstill{}
		return ""
	}
	if s.since.IsZero() || s.updated != status.UpdatedReplicas || s.ready != status.ReadyReplicas {
		*s = standstill{since: now, updated: status.UpdatedReplicas, ready: status.ReadyReplicas}
	}
	deadline := time.Duration(memcached.ProgressDeadlineSeconds(mc)) * time.Second
	if apimeta.IsStatusConditionTrue(conditions, cachev1alpha1.ConditionDegraded) && now.Sub(s.since) < deadline {
		return ""
	}
	return ready.Message
}
