// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

type sizeCommand struct {
	*session

	interval time.Duration
}

const sizeLong = `Recommend spec.config.memory and spec.size from what the nodes report: evictions and how long what is evicted
had not been read, hit ratio, memory in use, items, reads and connections. Every recommendation has its
reasons. Nothing is changed.

What is measured is the load of now: run it at the busiest hour, on a cache that has been full for a day.`

const sizeExamples = `  # Measure for ten seconds
  kubectl memcached size sessions

  # Measure for ten minutes
  kubectl memcached size sessions --interval=10m`

func newSizeCommand(s *session) *cobra.Command {
	o := &sizeCommand{session: s}
	command := &cobra.Command{
		Use:               "size NAME",
		Short:             "Recommend memory and size, with the reasons",
		Long:              sizeLong,
		Example:           sizeExamples,
		Args:              exactly("NAME"),
		ValidArgsFunction: s.completeNames,
		RunE:              o.run,
	}
	s.bindUser(command)
	command.Flags().DurationVar(&o.interval, "interval", 10*time.Second, "How long to measure")
	return command
}

func (o *sizeCommand) run(command *cobra.Command, args []string) error {
	if o.interval <= 0 {
		return misuse(command, "--interval is %s, but must be positive", o.interval)
	}
	ctx := command.Context()
	c, mc, err := o.open(ctx, args[0])
	if err != nil {
		return err
	}
	pods, err := c.podsOf(ctx, mc, "")
	if err != nil {
		return err
	}
	all := make([]load, len(pods))
	session := *o.session
	session.nodeTimeout += o.interval
	failures := session.askEach(ctx, c, pods, func(i int) question {
		return func(ctx context.Context, conn *memcache.Conn) (err error) {
			all[i], err = o.measure(ctx, conn)
			return err
		}
	})
	var measured []load
	for i := range pods {
		if all[i].node = pods[i].Name; failures[i] == nil {
			measured = append(measured, all[i])
		}
	}
	if uneven(measured) {
		return fmt.Errorf("the nodes of %s/%s have different memory: measure when its change has ended", mc.Namespace, mc.Name)
	}
	if len(measured) > 0 {
		o.show(mc, c.copiesIn(ctx, mc.Name), measured)
	}
	return errors.Join(nodesFailed(pods, failures), context.Cause(ctx))
}

// uneven reports whether some nodes have more memory than others, as during a change of config.memory.
func uneven(nodes []load) bool {
	return slices.ContainsFunc(nodes, func(node load) bool { return node.MemoryLimitBytes != nodes[0].MemoryLimitBytes })
}

type load struct {
	figures

	node string
	// pages is the memory in the pages of all slab classes, in bytes.
	pages int64
	// evictedAge is how long the last evicted item had not been read, but at least a second. If several slab classes have evicted items,
	// it is the shortest time. It is 0 if no item was evicted while the command measured.
	evictedAge time.Duration
	// evictedUnread counts evicted items that were never read.
	evictedUnread int64
	// maxConnections, rejected and tooLarge are statistics of memcached: see measure.
	maxConnections, rejected, tooLarge int64
}

func (o *sizeCommand) measure(ctx context.Context, conn *memcache.Conn) (load, error) {
	before, err := conn.Stats(ctx, "items")
	if err != nil {
		return load{}, err
	}
	measured, stats, err := o.figuresTwice(ctx, conn, o.interval)
	if err != nil {
		return load{}, err
	}
	items, err := conn.Stats(ctx, "items")
	if err != nil {
		return load{}, err
	}
	slabs, err := conn.Stats(ctx, "slabs")
	if err != nil {
		return load{}, err
	}
	l := load{
		figures: *measured, pages: pagesOf(slabs), evictedUnread: numberOf(stats, "evicted_unfetched"),
		maxConnections: numberOf(stats, "max_connections"), rejected: numberOf(stats, "rejected_connections"),
		tooLarge: numberOf(stats, "store_too_large"),
	}
	for name := range items {
		class, isEvicted := strings.CutSuffix(name, ":evicted")
		if !isEvicted || numberOf(items, name) == numberOf(before, name) {
			continue
		}
		age := time.Duration(max(1, numberOf(items, class+":evicted_time"))) * time.Second
		if l.evictedAge == 0 || age < l.evictedAge {
			l.evictedAge = age
		}
	}
	return l, nil
}

// pageSize is the size of a slab page in bytes. It includes the unused end of the page, where no further chunk fits.
const pageSize = 1 << 20

// pagesOf returns the memory in the pages of all slab classes, in bytes. With storage.type MemoryFile, the statistic total_malloced does
// not show this memory: it is the size of the whole file after the first start, and 0 after a start that reuses the file.
func pagesOf(slabs map[string]string) (memory int64) {
	for name := range slabs {
		if strings.HasSuffix(name, ":total_pages") {
			memory += numberOf(slabs, name) * pageSize
		}
	}
	return memory
}

// numberOf returns a statistic, or 0 if it is missing or no number.
func numberOf(stats map[string]string, name string) int64 {
	value, err := strconv.ParseInt(stats[name], 10, 64)
	if err != nil {
		return 0
	}
	return value
}

// show writes the recommendation. The argument proxy is the proxy that has mc as one of several pools, or nil.
func (o *sizeCommand) show(mc *cachev1alpha1.Memcached, proxy *cachev1alpha1.MemcachedProxy, measured []load) {
	sum := sumOf(measured)
	now := plan{memory: sum.MemoryLimitBytes / int64(len(measured)), size: int64(mc.Spec.Size)}
	advice, reasons := recommend(now, smallestOf(mc), measured)
	if limit := ownMemoryLimit(mc); limit != nil && advice.memory > now.memory {
		reasons = append(reasons, fmt.Sprintf("The memory of spec.resources is %s: if that is too little for config.memory %s, the patch is "+
			"refused or reported as InvalidResources. Raise it first, or remove it.", limit, mebibytes(advice.memory)))
	}
	if proxy != nil && advice.size != now.size {
		reasons = append(reasons, fmt.Sprintf("The MemcachedProxy %s uses as many nodes of each pool as the smallest pool has: change the "+
			"size of each of %s.", proxy.Name, strings.Join(poolsOf(proxy), ", ")))
	}
	fmt.Fprintf(o.Out, "%s/%s: %s of %s, measured for %s\n", mc.Namespace, mc.Name, nodeCount(int(mc.Spec.Size)), mebibytes(now.memory),
		o.interval)
	writeTable(o.Out, false, [][]cell{
		texts([]string{"  Memory", fmt.Sprintf("%s of %s hold %d items of %d bytes on average", mebibytes(sum.MemoryBytes),
			mebibytes(sum.MemoryLimitBytes), sum.Items, sum.MemoryBytes/max(1, sum.Items))}),
		texts([]string{"  Reads", fmt.Sprintf("%s a second, hit ratio %s, since the start %s", perSecond(sum.GetsPerSecond),
			percent(sum.HitRatioNow), percent(sum.HitRatio))}),
		texts([]string{"  Evictions", fmt.Sprintf("%s a second, %d since the start", perSecond(sum.EvictionsPerSecond), sum.Evictions)}),
		texts([]string{"  Connections", fmt.Sprintf("%d of %d", sum.Connections, sum.maxConnections)}),
	})
	fmt.Fprintf(o.Out, "\nRecommendation: config.memory %s, size %s\n", changeOf(mebibytes(now.memory), mebibytes(advice.memory)),
		changeOf(strconv.FormatInt(now.size, 10), strconv.FormatInt(advice.size, 10)))
	for _, reason := range reasons {
		fmt.Fprintln(o.Out, "- "+reason)
	}
	if advice != now {
		fmt.Fprintf(o.Out, "\nTo apply it, which %s:\n"+
			"  kubectl patch memc %s --namespace=%s --type=merge --patch='{\"spec\":{\"size\":%d,\"config\":{\"memory\":\"%dMi\"}}}'\n",
			planCost(mc, now, advice), mc.Name, mc.Namespace, advice.size, advice.memory>>20)
	}
}

func changeOf(from, to string) string {
	if from == to {
		return to + " (as it is)"
	}
	return to + " (now " + from + ")"
}
