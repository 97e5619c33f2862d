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

// heldBack lists what a pause holds back: the children that would be written or deleted, another size, and the rest of a rollout.
func (f facts) heldBack() []string {
	var held []string
	for _, kind := range f.Pending {
		if text := "the " + kind; !slices.Contains(held, text) {
			held = append(held, text)
		}
	}
	if w := f.Workload; w != nil && w.Size != f.size && slices.Contains(f.Pending, string(w.Kind)) {
		scaling := fmt.Sprintf("scaling from %d to %d nodes", w.Size, f.size)
		switch {
		case f.size == 0:
			scaling += ", which loses all items"
		case w.Size > 0:
			scaling += ", which remaps keys"
		}
		held = append(held, scaling)
	}
	if f.plan.Rollout.Outdated > 0 {
		held = append(held, "a rollout")
	}
	return held
}

// pausedMessage says what a pause holds back, what that will cost, and how to end the pause.
func pausedMessage(f facts) string {
	if len(f.held) == 0 {
		return "spec.paused holds changes back; there are none now"
	}
	message := "spec.paused holds back: " + strings.Join(f.held, ", ")
	if will, _ := f.cost(); will != "" && (f.TemplatePending || f.plan.Rollout.Outdated > 0) {
		message += "; " + will
	}
	return message + ". To resume: " + patchCommand(f.Memcached, `"paused":false`)
}

// patchCommand returns the command that sets a field of the spec.
func patchCommand(mc *cachev1alpha1.Memcached, field string) string {
	return fmt.Sprintf(`kubectl patch memcached %s -n %s --type=merge -p '{"spec":{%s}}'`, mc.Name, mc.Namespace, field)
}

// restartCommand returns the command that replaces the nodes, which then get the operator's current defaults.
func restartCommand(mc *cachev1alpha1.Memcached) string {
	field := `"restartedAt"`
	if memcached.IsStatefulSet(mc) { // spec.restartedAt would keep the pods
		field = `"replacedAt"`
	}
	return patchCommand(mc, field+`:"'$(date -u +%FT%TZ)'"`)
}
