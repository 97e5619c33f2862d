// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/memcache"
)

type flushCommand struct {
	*session

	node string
	yes  bool
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
		Use:               "flush NAME",
		Short:             "Empty the nodes of a cache",
		Long:              flushLong,
		Example:           flushExamples,
		Args:              exactly("NAME"),
		ValidArgsFunction: s.completeNames,
		RunE:              o.run,
	}
	s.bindNode(command, &o.node)
	bindYes(command, &o.yes)
	s.bindUser(command)
	command.Flags().DurationVar(&o.pace, "pace", 0, "Empty one node after the other, with this time between them; 0 is all at once")
	return command
}

func (o *flushCommand) run(command *cobra.Command, args []string) error {
	if o.pace < 0 {
		return misuse(command, "--pace is %s, but must not be negative", o.pace)
	}
	ctx := command.Context()
	c, mc, err := o.open(ctx, args[0])
	if err != nil {
		return err
	}
	if !ptr.Deref(mc.Spec.Config.FlushAll, true) {
		return fmt.Errorf("spec.config.flushAll is false, so memcached refuses: %s", insteadOfFlush(mc))
	}
	pods, err := c.podsOf(ctx, mc, o.node)
	if err != nil {
		return err
	}
	answering, items, silent := o.count(ctx, c, pods)
	if len(answering) == 0 {
		return silent
	}
	if silent != nil {
		fmt.Fprintf(o.ErrOut, "These nodes do not answer, and stay as they are:\n%s\n", silent)
	}
	consequences := fmt.Sprintf("This deletes %d items from %s of %s/%s. Requests for them are misses until the cache fills again.",
		items, nodeCount(len(answering)), c.namespace, mc.Name)
	if proxy := c.copiesIn(ctx, mc.Name); proxy != nil {
		consequences += fmt.Sprintf("\nBut the MemcachedProxy %s also finds them in its other pools: flush each of %s.",
			proxy.Name, strings.Join(poolsOf(proxy), ", "))
	}
	if err := o.confirm(ctx, consequences, o.yes); err != nil {
		return err
	}
	return errors.Join(silent, o.flush(ctx, c, answering))
}

func (o *flushCommand) flush(ctx context.Context, c *cluster, pods []corev1.Pod) error {
	together := len(pods)
	if o.pace > 0 {
		together = 1
	}
	var failed []error
	for some := range slices.Chunk(pods, together) {
		failures := o.askEach(ctx, c, some, func(int) question { return flush })
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
			// Print the errors here, because the caller prints nothing about an interrupted command.
			failed = append(failed, errors.New("not flushed: "+listOf(pods)))
			fmt.Fprintln(o.ErrOut, errors.Join(failed...))
			return context.Cause(ctx)
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

// count sums up the items of the nodes that answer. The error in silent joins the errors of the other nodes.
func (o *flushCommand) count(ctx context.Context, c *cluster, pods []corev1.Pod) (answering []corev1.Pod, items int64, silent error) {
	counts, failures := o.countItems(ctx, c, pods)
	for i := range pods {
		if failures[i] == nil {
			answering = append(answering, pods[i])
			items += counts[i]
		}
	}
	return answering, items, nodesFailed(pods, failures)
}

// countItems returns the number of items or the error of each node.
func (s *session) countItems(ctx context.Context, c *cluster, pods []corev1.Pod) ([]int64, []error) {
	counts := make([]int64, len(pods))
	failures := s.askEach(ctx, c, pods, func(i int) question {
		return func(ctx context.Context, conn *memcache.Conn) error {
			stats, err := conn.Stats(ctx)
			counts[i] = figuresOf(stats).Items
			return err
		}
	})
	return counts, failures
}

// nodeCount returns a text such as "1 node" or "3 nodes".
func nodeCount(count int) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}
