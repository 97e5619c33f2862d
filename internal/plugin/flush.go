// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/internal/memcache"
)

// flushCommand empties nodes.
type flushCommand struct {
	*session

	node string
	yes  bool
}

const flushLong = `Empty every node of a cache, or one, with memcached's command flush_all. The nodes keep running, and
clients stay connected.

Every request is a miss until the cache fills again: the source behind it has to bear that.`

const flushExamples = `  # Every node, after a question
  kubectl memcached flush sessions

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
	return command
}

func (o *flushCommand) run(command *cobra.Command, args []string) error {
	ctx := command.Context()
	c, mc, err := o.open(ctx, args[0])
	if err != nil {
		return err
	}
	if !ptr.Deref(mc.Spec.Config.FlushAll, true) {
		return errors.New("spec.config.flushAll is false, so memcached refuses: kubectl memcached restart empties the nodes as well")
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
	if err := o.confirm(ctx, consequences, o.yes); err != nil {
		return err
	}
	failures := o.askEach(ctx, c, answering, func(int) question { return flush })
	for i := range answering {
		if failures[i] == nil {
			fmt.Fprintln(o.Out, "flushed", answering[i].Name)
		}
	}
	return errors.Join(silent, nodesFailed(answering, failures))
}

func flush(ctx context.Context, conn *memcache.Conn) error {
	reply, err := conn.Command(ctx, "flush_all")
	if err == nil && reply != "OK" {
		err = &memcache.RefusalError{Reply: reply}
	}
	return err
}

// count counts the items of the nodes that answer. silent says why the others do not.
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

// countItems returns how many items each node has.
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

// nodeCount is a number of nodes in words.
func nodeCount(count int) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}
