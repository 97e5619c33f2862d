// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

const restartLong = `Restart the nodes of a cache, one after the other, by setting spec.restartedAt. A Deployment gets new pods,
which are empty and adopt newer defaults of the operator. In a StatefulSet, memcached restarts in its pod, and
with storage.type MemoryFile keeps its items.

With --replace, a StatefulSet gets new pods, too, by spec.replacedAt: they are empty, and run the operator's
present agent and defaults. A Deployment always gets new pods.

The command says what that costs and asks. It does not wait: "kubectl wait" does, as in the example. If your
manifests are in Git, write the field there instead.`

const restartExamples = `  # After a question
  kubectl memcached restart sessions

  # Without a question, and wait for the end
  kubectl memcached restart sessions --yes
  kubectl wait memcached/sessions --for=condition=Ready --timeout=10m

  # Replace pods that have an older agent of the operator
  kubectl memcached restart sessions --replace`

func newRestartCommand(s *session) *cobra.Command {
	var replace bool
	command := &cobra.Command{
		Use:     "restart NAME",
		Short:   "Restart the nodes of a cache, one after the other",
		Long:    restartLong,
		Example: restartExamples,
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return s.restart(command.Context(), args[0], replace)
		},
	}
	command.Flags().BoolVarP(&s.yes, "yes", "y", false, "Do not ask")
	command.Flags().BoolVar(&replace, "replace", false, "Replace the pods of a StatefulSet")
	return command
}

func (s *session) restart(ctx context.Context, name string, replace bool) error {
	c, mc, err := s.open(ctx, name)
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
	items, failures := s.countItems(ctx, c, mc, pods)
	if err := s.confirm(ctx, restartCost(mc, replace, items, errors.Join(failures...) == nil)); err != nil {
		return err
	}
	before, field := mc.DeepCopy(), &mc.Spec.RestartedAt
	if replace && memcached.IsStatefulSet(mc) {
		field = &mc.Spec.ReplacedAt
	}
	now := s.clock.Now().UTC().Truncate(time.Second)
	if former := *field; former != nil && !former.Time.Before(now) {
		now = former.Time.UTC().Add(time.Second) // an equal time restarts nothing
	}
	*field = &metav1.Time{Time: now}
	if err := c.Patch(ctx, mc, client.MergeFrom(before), client.FieldOwner("kubectl-memcached")); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "restarting %s/%s\n", mc.Namespace, mc.Name)
	return nil
}

// restartCost tells the user what is lost when every node restarts. complete is false if some nodes have not said how many items they
// have.
func restartCost(mc *cachev1alpha1.Memcached, replace bool, items int64, complete bool) string {
	what := fmt.Sprintf("all %d items", items)
	if !complete {
		what = fmt.Sprintf("all items, at least %d,", items)
	}
	how := "restarts memcached in the pods"
	if replace || !memcached.IsStatefulSet(mc) {
		how, replace = "replaces the pods", true
	}
	cost := "are lost, node by node. spec.updateStrategy.minReadySeconds gives each node time to fill before the next one leaves."
	switch {
	case !memcached.IsStatefulSet(mc):
		cost += " Each new node has a new address."
	case memcached.Copies(mc) > 1:
		cost = "stay in another copy: each node copies them before it is ready."
	case mc.Spec.Storage.Type == cachev1alpha1.StorageMemoryFile && !replace:
		cost = "are kept. A node is away for a second or two. What clients delete there meanwhile stays in the cache."
	}
	return fmt.Sprintf("This %s of the %d nodes of %s/%s, one after the other: %s %s", how, mc.Spec.Size, mc.Namespace, mc.Name, what, cost)
}
