// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
)

// completionTimeout limits how long a shell waits for completions.
const completionTimeout = 3 * time.Second

// finder reads candidates for a completion from the cluster.
type finder func(ctx context.Context, c *cluster) ([]string, error)

// complete returns the candidates that the function find reads. It hides errors, because they would disturb the line that the user
// types.
func (s *session) complete(command *cobra.Command, find finder) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
	defer cancel()
	c, err := s.connect(s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := find(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeNames completes the name of a Memcached, the first argument.
func (s *session) completeNames(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(command, func(ctx context.Context, c *cluster) ([]string, error) {
		caches, err := c.memcacheds(ctx, false)
		var names []string
		for i := range caches {
			names = append(names, caches[i].Name)
		}
		return names, err
	})
}

// completeTopics completes the arguments of the command "stats".
func (s *session) completeTopics(command *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return topics, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeNames(command, args, typed)
}

// completeNodes completes the name of a node of the Memcached that the first argument names.
func (s *session) completeNodes(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(command, func(ctx context.Context, c *cluster) ([]string, error) {
		mc, err := c.memcached(ctx, args[0])
		if err != nil {
			return nil, err
		}
		pods, err := c.pods(ctx, mc)
		var names []string
		for i := range pods {
			names = append(names, pods[i].Name)
		}
		return names, err
	})
}

// completeNamespaces completes the flag --namespace.
func (s *session) completeNamespaces(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.complete(command, func(ctx context.Context, c *cluster) ([]string, error) {
		var list corev1.NamespaceList
		err := c.List(ctx, &list)
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, err
	})
}
