// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// countOfItems returns a text such as "all 3 items". complete is false if some nodes have not answered.
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

// restartCost tells the user what is lost when every node restarts. The argument items is the text from countOfItems.
func restartCost(mc, source *cachev1alpha1.Memcached, items string) string {
	if mc.Spec.Size == 0 {
		return fmt.Sprintf("%s/%s has no nodes. Nothing is lost.", mc.Namespace, mc.Name)
	}
	if mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet {
		return restartInPlaceCost(mc, source, items)
	}
	if mc.Spec.Size == 1 {
		return fmt.Sprintf("This replaces the only node of %s/%s by an empty one: %s are lost at once.",
			mc.Namespace, mc.Name, items)
	}
	return fmt.Sprintf("This replaces the %d nodes of %s/%s by empty ones, one after the other: %s are lost in the end.\n"+
		"Each has a new name and address, so with each step, clients lose about %d%% of the keys.\n"+timeToFill,
		mc.Spec.Size, mc.Namespace, mc.Name, items, lostPercent(mc))
}

const timeToFill = "spec.updateStrategy.minReadySeconds gives each node time to fill before the next one leaves."

// restartInPlaceCost tells the user what is lost when memcached restarts inside each pod. source is the Memcached from which the nodes
// copy items, or nil.
func restartInPlaceCost(mc, source *cachev1alpha1.Memcached, items string) string {
	where := fmt.Sprintf("This restarts memcached in the pod of the only node of %s/%s", mc.Namespace, mc.Name)
	if mc.Spec.Size > 1 {
		where = fmt.Sprintf("This restarts memcached in the pods of %s/%s, on its %d nodes one after the other",
			mc.Namespace, mc.Name, mc.Spec.Size)
	}
	switch from := fillsFrom(mc); {
	case from != "" && source != nil && source.Spec.Size > 0:
		text := fmt.Sprintf("%s: %s come back. Each node copies them from its twin in %s before it is ready.", where, items, from)
		if source.Spec.Size < mc.Spec.Size {
			text += fmt.Sprintf("\nNodes %d and up have no twin, and lose their items.", source.Spec.Size)
		}
		if degradedBy(mc, cachev1alpha1.ReasonNodesUnfilled) {
			text += "\nSome nodes may not get them: the condition Degraded says why."
		}
		return text
	case mc.Spec.Storage.Type == cachev1alpha1.StorageMemoryFile:
		return fmt.Sprintf("%s: %s are kept.\n"+
			"A node is away for a second or two. What clients delete there meanwhile stays in the cache.",
			where, items)
	case mc.Spec.Size == 1:
		return fmt.Sprintf("%s: %s are lost at once.", where, items)
	default:
		return fmt.Sprintf("%s: %s are lost in the end.\n"+
			"Each node keeps its name and address: with each step, clients lose about %d%% of the keys.\n"+timeToFill,
			where, items, lostPercent(mc))
	}
}

// planCost says, as part of a sentence, what a change of the plan costs: see docs/concepts/changes.md. The argument now is the current
// plan, and next is the plan after the change.
func planCost(mc *cachev1alpha1.Memcached, now, next plan) string {
	var costs []string
	grows := next.memory > now.memory && mc.Spec.Workload == cachev1alpha1.WorkloadStatefulSet &&
		mc.Spec.Storage.Type != cachev1alpha1.StorageMemoryFile
	switch {
	case next.memory == now.memory:
	case grows && ownMemoryLimit(mc) != nil:
		costs = append(costs, "loses no item by the memory")
	case fillsFrom(mc) != "":
		costs = append(costs, "makes each node copy its items again from "+fillsFrom(mc))
	case grows && mc.Spec.UpdateStrategy.PodUpdatePolicy == cachev1alpha1.PodUpdateInPlaceIfPossible:
		costs = append(costs, "loses no item by the memory if pods may change in place")
	default:
		costs = append(costs, "empties the nodes one after the other")
	}
	if next.size != now.size {
		costs = append(costs, "moves keys to other nodes")
	}
	return strings.Join(costs, " and ")
}

// ownMemoryLimit returns the memory of a node according to spec.resources, or nil if the operator computes it.
func ownMemoryLimit(mc *cachev1alpha1.Memcached) *resource.Quantity {
	for _, amounts := range []corev1.ResourceList{mc.Spec.Resources.Limits, mc.Spec.Resources.Requests} {
		if memory, found := amounts[corev1.ResourceMemory]; found {
			return &memory
		}
	}
	return nil
}

// fillsFrom returns the name of the Memcached from which restarted nodes copy their items. It returns "" if nodes do not copy items, or
// if the condition Degraded has the reason TwinUnusable.
func fillsFrom(mc *cachev1alpha1.Memcached) string {
	if degradedBy(mc, cachev1alpha1.ReasonTwinUnusable) {
		return ""
	}
	return memcached.FillsFrom(mc)
}

func degradedBy(mc *cachev1alpha1.Memcached, reason string) bool {
	degraded := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded)
	return degraded != nil && degraded.Reason == reason
}

// lostPercent returns the percentage of the keys that clients no longer find after one node has restarted.
func lostPercent(mc *cachev1alpha1.Memcached) int {
	return int((1-keptShare(mc.Spec.Workload, int(mc.Spec.Size)))*100 + 0.5)
}

// insteadOfFlush says how to empty nodes on which flush_all is disabled.
func insteadOfFlush(mc *cachev1alpha1.Memcached) string {
	if from := fillsFrom(mc); from != "" {
		return fmt.Sprintf("set it to true. A restart does not help, because the nodes copy the items from %s again", from)
	}
	if mc.Spec.Storage.Type == cachev1alpha1.StorageMemoryFile {
		return fmt.Sprintf("kubectl rollout restart statefulset/%s -n %s empties the nodes as well", mc.Name, mc.Namespace)
	}
	return "kubectl memcached restart empties the nodes as well"
}

// keptShare returns the share of the keys that clients still find after one node has restarted empty. In a Deployment, the new pod has a
// new name, so clients also look there for some keys that other nodes hold.
func keptShare(workload cachev1alpha1.WorkloadKind, nodes int) float64 {
	kept := float64(nodes-1) / float64(nodes)
	if workload == cachev1alpha1.WorkloadStatefulSet {
		return kept
	}
	return kept * kept
}
