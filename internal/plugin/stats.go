// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/internal/memcache"
)

// topics are the topics that users may choose. Other topics show keys or addresses of clients, are slow, or do not apply to a node.
var topics = []string{"settings", "items", "slabs"}

const statsExamples = `  # All counters, with a column for each node
  kubectl memcached stats sessions

  # The settings of one node
  kubectl memcached stats sessions settings --node=sessions-0`

func newStatsCommand(s *session) *cobra.Command {
	command := &cobra.Command{
		Use:     "stats NAME [" + strings.Join(topics, "|") + "]",
		Short:   "Show the counters of memcached, or its settings, items or slabs",
		Long:    "Show what memcached itself reports, in its own words: memcached's doc/protocol.txt describes each statistic.",
		Example: statsExamples,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(command *cobra.Command, args []string) error {
			return s.stats(command.Context(), args[0], args[1:])
		},
		ValidArgsFunction: func(command *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return topics, cobra.ShellCompDirectiveNoFileComp
			}
			return s.completeNames(command, args, typed)
		},
	}
	s.bindOutput(command)
	s.bindNode(command)
	return command
}

func (s *session) stats(ctx context.Context, name string, topic []string) error {
	if len(topic) > 0 && !slices.Contains(topics, topic[0]) {
		return fmt.Errorf("unknown topic %q: use one of %s", topic[0], strings.Join(topics, ", "))
	}
	c, mc, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	pods, err := c.podsOf(ctx, mc, s.node)
	if err != nil {
		return err
	}
	statistics := make([]map[string]string, len(pods))
	failures := s.askEach(ctx, c, mc, pods, func(i int) question {
		return func(ctx context.Context, conn *memcache.Conn) (err error) {
			statistics[i], err = conn.Stats(ctx, topic...)
			return err
		}
	})
	byNode, names, header := map[string]map[string]string{}, map[string]bool{}, []string{"STAT"}
	for i, pod := range pods {
		if failures[i] != nil {
			continue
		}
		byNode[pod.Name], header = statistics[i], append(header, pod.Name)
		for name := range statistics[i] {
			names[name] = true
		}
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := []string{name}
		for _, node := range header[1:] {
			row = append(row, cmp.Or(byNode[node][name], unknownText))
		}
		rows = append(rows, row)
	}
	err = s.print(byNode, func() error { return s.printTable(header, rows) })
	return errors.Join(err, nodesFailed(pods, failures))
}
