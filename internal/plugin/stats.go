// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

// topics are the topics that users may choose. Other topics show keys or addresses of clients, are slow, or do not apply to a node.
var topics = []string{"settings", "items", "slabs"}

type statsCommand struct {
	*session

	output outputFlag
	node   string
}

const statsExamples = `  # All counters, with a column for each node
  kubectl memcached stats sessions

  # The settings of one node
  kubectl memcached stats sessions settings --node=sessions-0

  # The number and age of items in each slab class, for a program
  kubectl memcached stats sessions items --output=json`

func newStatsCommand(s *session) *cobra.Command {
	o := &statsCommand{session: s}
	command := &cobra.Command{
		Use:     "stats NAME [settings|items|slabs]",
		Short:   "Show the counters of memcached, or its settings, items or slabs",
		Long:    "Show what memcached itself reports, in its own words: memcached's doc/memcache.txt describes each statistic.",
		Example: statsExamples,
		Args: func(command *cobra.Command, args []string) error {
			if err := between(1, "NAME", "TOPIC")(command, args); err != nil {
				return err
			}
			if len(args) > 1 && !slices.Contains(topics, args[1]) {
				return misuse(command, "unknown topic %q: use settings, items or slabs", args[1])
			}
			return nil
		},
		ValidArgsFunction: s.completeTopics,
		RunE:              o.run,
	}
	o.output.bind(command, "Output format: table, json or yaml", formatTable, formatJSON, formatYAML)
	s.bindNode(command, &o.node)
	s.bindUser(command)
	return command
}

func (o *statsCommand) run(command *cobra.Command, args []string) error {
	if err := o.output.validate(command); err != nil {
		return err
	}
	c, mc, err := o.open(command.Context(), args[0])
	if err != nil {
		return err
	}
	pods, err := c.podsOf(command.Context(), mc, o.node)
	if err != nil {
		return err
	}
	statistics := make([]map[string]string, len(pods))
	failures := o.askEach(command.Context(), c, pods, func(i int) question {
		return func(ctx context.Context, conn *memcache.Conn) (err error) {
			statistics[i], err = conn.Stats(ctx, args[1:]...)
			return err
		}
	})
	if err := o.show(pods, statistics); err != nil {
		return err
	}
	return nodesFailed(pods, failures)
}

func (o *statsCommand) show(pods []corev1.Pod, statistics []map[string]string) error {
	byNode := map[string]map[string]string{}
	var names []string
	for i := range pods {
		if statistics[i] != nil {
			byNode[pods[i].Name] = statistics[i]
			names = append(names, pods[i].Name)
		}
	}
	if o.output.value != formatTable {
		return o.writeDocument(o.output.value, byNode)
	}
	if len(names) > 0 {
		writeTable(o.Out, o.colored(), statRows(names, byNode))
	}
	return nil
}

// statRows returns a table of statistics, with a column for each node.
func statRows(nodes []string, byNode map[string]map[string]string) [][]cell {
	names := map[string]bool{}
	for _, statistics := range byNode {
		for name := range statistics {
			names[name] = true
		}
	}
	rows := [][]cell{append([]cell{text("STAT")}, texts(nodes)...)}
	for _, name := range slices.SortedFunc(maps.Keys(names), naturally) {
		row := []cell{text(name)}
		for _, node := range nodes {
			value, known := byNode[node][name]
			if !known {
				value = unknownText
			}
			row = append(row, text(value))
		}
		rows = append(rows, row)
	}
	return rows
}

func (s *session) bindNode(command *cobra.Command, node *string) {
	command.Flags().StringVar(node, "node", "", "Only this node, by the name of its pod")
	_ = command.RegisterFlagCompletionFunc("node", s.completeNodes) // the flag exists
}

// podsOf reads the pods of a Memcached that are in use or, if the argument node is not empty, only the pod of this name. It returns an
// error if there is none.
func (c *cluster) podsOf(ctx context.Context, mc *cachev1alpha1.Memcached, node string) ([]corev1.Pod, error) {
	pods, err := c.pods(ctx, mc)
	if err != nil {
		return nil, err
	}
	if node == "" {
		if pods = inUse(pods); len(pods) == 0 {
			return nil, fmt.Errorf("%s/%s has no nodes", mc.Namespace, mc.Name)
		}
		return pods, nil
	}
	for i := range pods {
		if pods[i].Name == node {
			return pods[i : i+1], nil
		}
	}
	return nil, fmt.Errorf("%s/%s has no node %s, but: %s", mc.Namespace, mc.Name, node, listOf(pods))
}

func nodesFailed(pods []corev1.Pod, failures []error) error {
	var failed []error
	for i, failure := range failures {
		if failure != nil {
			failed = append(failed, fmt.Errorf("%s: %s", pods[i].Name, unreachable(failure)))
		}
	}
	return errors.Join(failed...)
}
