// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

type versionsCommand struct {
	*session

	everywhere bool
}

const versionsLong = `Show which images the nodes of each cache run, and whether the operator has newer ones or a memcached is no
longer supported. Nodes keep what they have until they are replaced.`

const versionsExamples = `  # Which caches of the cluster still run an older memcached or agent
  kubectl memcached versions --all-namespaces`

func newVersionsCommand(s *session) *cobra.Command {
	o := &versionsCommand{session: s}
	command := &cobra.Command{
		Use:     "versions",
		Short:   "Show the images of caches, and which are outdated",
		Long:    versionsLong,
		Example: versionsExamples,
		Args:    between(0),
		RunE:    o.run,
	}
	command.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "Show the caches of all namespaces")
	return command
}

func (o *versionsCommand) run(command *cobra.Command, _ []string) error {
	c, err := o.connect(o.session)
	if err != nil {
		return err
	}
	caches, err := c.memcacheds(command.Context(), o.everywhere)
	if err != nil {
		return err
	}
	if len(caches) == 0 {
		fmt.Fprintln(o.ErrOut, "No Memcached found.")
		return nil
	}
	rows := [][]cell{texts([]string{"NAMESPACE", "NAME", "MEMCACHED", "AGENT", "OUTDATED"})}
	for i := range caches {
		row, err := versionsOf(command.Context(), c, &caches[i])
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	writeTable(o.Out, o.colored(), rows)
	return nil
}

func versionsOf(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) ([]cell, error) {
	pods, err := c.pods(ctx, mc)
	if err != nil {
		return nil, err
	}
	images := map[string][]string{}
	for _, pod := range inUse(pods) {
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			images[container.Name] = append(images[container.Name], container.Image)
		}
	}
	row := texts([]string{
		mc.Namespace, mc.Name, listImages(images[memcached.ContainerName]), listImages(images[memcached.AgentContainerName]),
	})
	return append(row, outdated(mc)), nil
}

// listImages joins the images without duplicates.
func listImages(images []string) string {
	slices.Sort(images)
	return cmp.Or(strings.Join(slices.Compact(images), ","), unknownText)
}

// outdated returns the message of the condition Progressing if it is about newer or unsupported versions. It returns "no" if the
// condition has the reason Complete. Other reasons, such as Paused, do not show whether there are newer versions.
func outdated(mc *cachev1alpha1.Memcached) cell {
	progressing := apimeta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionProgressing)
	if progressing == nil {
		return text(unknownText)
	}
	switch progressing.Reason {
	case cachev1alpha1.ReasonNewerDefaultsAvailable, cachev1alpha1.ReasonUnsupportedVersion:
		return cell{progressing.Message, yellow}
	case cachev1alpha1.ReasonComplete:
		return text("no")
	}
	return text(unknownText + " (" + progressing.Reason + ")")
}
