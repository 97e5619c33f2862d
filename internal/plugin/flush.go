// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

type flushCommand struct {
	*session

	// pace is the pause between two nodes. If it is 0, all nodes are flushed at once.
	pace time.Duration
}

const flushLong = `Empty every node of a cache, or one, with memcached's command flush_all. The nodes keep running, and
clients stay connected.

Every request is a miss until the cache fills again: the source behind it has to bear that. --pace gives it
time, node by node.`

const flushExamples = `  # Every node, after a question
  kubectl memcached flush sessions

  # One node a minute
  kubectl memcached flush sessions --pace=1m

  # One node, without a question
  kubectl memcached flush sessions --node=sessions-0 --yes`

func newFlushCommand(s *session) *cobra.Command {
	o := &flushCommand{session: s}
	command := &cobra.Command{
		Use:     "flush NAME",
		Short:   "Empty the nodes of a cache",
		Long:    flushLong,
		Example: flushExamples,
		Args:    cobra.ExactArgs(1),
		RunE:    func(command *cobra.Command, args []string) error { return o.run(command.Context(), args[0]) },
	}
	s.bindNode(command)
	command.Flags().BoolVarP(&s.yes, "yes", "y", false, "Do not ask")
	command.Flags().DurationVar(&o.pace, "pace", 0, "Empty one node after the other, with this time between them; 0 is all at once")
	return command
}

func (o *flushCommand) run(ctx context.Context, name string) error {
	if o.pace < 0 {
		return fmt.Errorf("--pace is %s, but must not be negative", o.pace)
	}
	c, mc, err := o.open(ctx, name)
	if err != nil {
		return err
	}
	if !ptr.Deref(mc.Spec.Config.FlushAll, true) {
		return errors.New("spec.config.flushAll is false, so memcached refuses")
	}
	pods, err := c.podsOf(ctx, mc, o.node)
	if err != nil {
		return err
	}
	items, failures := o.countItems(ctx, c, mc, pods)
	silent := nodesFailed(pods, failures)
	var answering []corev1.Pod
	for i := range pods {
		if failures[i] == nil {
			answering = append(answering, pods[i])
		}
	}
	if len(answering) == 0 {
		return silent
	}
	if silent != nil {
		fmt.Fprintf(o.ErrOut, "These nodes do not answer, and stay as they are:\n%s\n", silent)
	}
	consequences := fmt.Sprintf("This deletes %d items from %d of %d nodes of %s/%s: requests for them miss until the cache fills again.",
		items, len(answering), len(pods), mc.Namespace, mc.Name)
	if err := o.confirm(ctx, consequences); err != nil {
		return err
	}
	return errors.Join(silent, o.flush(ctx, c, mc, answering))
}

func (o *flushCommand) flush(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached, pods []corev1.Pod) error {
	together := len(pods)
	if o.pace > 0 {
		together = 1
	}
	var failed []error
	for some := range slices.Chunk(pods, together) {
		failures := o.askEach(ctx, c, mc, some, func(int) question { return flush })
		for i := range some {
			if failures[i] == nil {
				fmt.Fprintln(o.Out, "flushed", some[i].Name)
			}
		}
		failed = append(failed, nodesFailed(some, failures))
		if pods = pods[len(some):]; len(pods) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			for i := range pods {
				failed = append(failed, errors.New("not flushed: "+pods[i].Name))
			}
			return errors.Join(failed...)
		case <-o.clock.After(o.pace):
		}
	}
	return errors.Join(failed...)
}

func flush(ctx context.Context, conn *memcache.Conn) error {
	reply, err := conn.Command(ctx, "flush_all")
	if err == nil && reply != "OK" {
		err = &memcache.RefusalError{Reply: reply}
	}
	return err
}

// countItems returns the number of items on the nodes that answer, and an error or nil for each node.
func (s *session) countItems(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached, pods []corev1.Pod) (int64, []error) {
	items := int64(0)
	counts := make([]int64, len(pods))
	failures := s.askEach(ctx, c, mc, pods, func(i int) question {
		return func(ctx context.Context, conn *memcache.Conn) error {
			stats, err := conn.Stats(ctx)
			counts[i] = numberOf(stats, "curr_items")
			return err
		}
	})
	for _, count := range counts {
		items += count
	}
	return items, failures
}
