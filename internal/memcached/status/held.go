// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// heldBack lists what a pause holds back: changes of the spec, and other pending differences by kind of object.
func heldBack(w *memcached.Workload, written memcached.Written, plan memcached.Plan) []string {
	if len(written.Pending) == 0 {
		return nil
	}
	changes := slices.Clone(plan.Changes)
	if written.TemplatePending && w != nil && w.TemplateHash() == plan.Record.TemplateHash {
		changes = append(changes, "other pod settings")
	}
	held := changes
	for _, kind := range written.Pending {
		if !slices.ContainsFunc(changes, func(change string) bool { return memcached.ChangesKind(change, kind) }) {
			held = append(held, "the "+kind)
		}
	}
	return held
}

// pausedMessage says what a pause holds back, and how to end it.
func pausedMessage(mc *cachev1alpha1.Memcached, held []string) string {
	if len(held) == 0 {
		return "spec.paused holds changes back; there are none now"
	}
	return fmt.Sprintf("spec.paused holds back: %s. To resume: %s", strings.Join(held, ", "), patchCommand(mc, `"paused":false`))
}

// patchCommand is the command with which a user sets a field of the spec.
func patchCommand(mc *cachev1alpha1.Memcached, field string) string {
	return fmt.Sprintf(`kubectl patch memcached %s -n %s --type=merge -p '{"spec":{%s}}'`, mc.Name, mc.Namespace, field)
}

// restartCommand returns the command that replaces the nodes, and so adopts the operator's defaults.
func restartCommand(mc *cachev1alpha1.Memcached) string {
	if memcached.WorkloadKind(mc) == cachev1alpha1.WorkloadStatefulSet { // restartedAt keeps its pods
		return fmt.Sprintf("kubectl rollout restart statefulset/%s -n %s", mc.Name, mc.Namespace)
	}
	return patchCommand(mc, `"restartedAt":"'$(date -u +%FT%TZ)'"`)
}
