// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// countOfItems is the number of items in words, for nodes of which some may not have answered.
func countOfItems(items int64, complete bool) string {
	switch {
	case complete:
		return fmt.Sprintf("all %d items", items)
	case items > 0:
		return fmt.Sprintf("all items, at least %d,", items)
	default:
		return "all items"
	}
}

// restartCost says what it costs to restart every node and lose these items.
func restartCost(mc *cachev1alpha1.Memcached, items string) string {
	if mc.Spec.Size == 0 {
		return fmt.Sprintf("%s/%s has no nodes. Nothing is lost.", mc.Namespace, mc.Name)
	}
	if mc.Spec.Size == 1 {
		return fmt.Sprintf("This replaces the only node of %s/%s by an empty one: %s are lost at once.",
			mc.Namespace, mc.Name, items)
	}
	lost := int((1-keptShare(mc.Spec.Workload, int(mc.Spec.Size)))*100 + 0.5)
	names := "Each has a new name and address, so with each step, clients lose about %d%% of the keys."
	if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		names = "Each keeps its name: with each step, clients that know it lose about %d%% of the keys, and others more."
	}
	return fmt.Sprintf("This replaces the %d nodes of %s/%s (%s) by empty ones, one after the other: %s are lost in the end.\n"+
		names+"\nspec.updateStrategy.minReadySeconds gives each node time to fill before the next one leaves.",
		mc.Spec.Size, mc.Namespace, mc.Name, cmp.Or(mc.Spec.Workload, cachev1alpha1.WorkloadDeployment), items, lost)
}

// keptShare is the share of the keys that clients still find after one node was replaced. The new node is empty. If it has another
// name, keys also move between it and the other nodes.
func keptShare(workload cachev1alpha1.WorkloadKind, nodes int) float64 {
	kept := float64(nodes-1) / float64(nodes)
	if workload == cachev1alpha1.WorkloadStatefulSet {
		return kept
	}
	return kept * kept
}
