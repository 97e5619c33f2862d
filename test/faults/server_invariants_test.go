// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"slices"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

func (o objects) members() (members, ready int) {
	for _, pod := range o.pods() {
		if pod.DeletionTimestamp == nil {
			members++
			if podReady(pod) {
				ready++
			}
		}
	}
	return members, ready
}

// serverViolations returns the violations of the rules for status.servers. The list must contain the first nodes, in order. Except
// during a pause, it must not be longer than the size, and must be empty with a Deployment. It must not get shorter, unless the size
// decreases.
func serverViolations(entries []entry) []string {
	var found []string
	before := 0
	for _, e := range entries {
		mc, ok := e.object.(*cachev1alpha1.Memcached)
		if !ok || mc.Status.ObservedGeneration != mc.Generation {
			continue
		}
		count, most := len(mc.Status.Servers), len(servers(mc))
		switch {
		case !slices.Equal(mc.Status.Servers, firstServers(mc, count)),
			count > most && !mc.Spec.Paused,
			count < min(before, most):
			found = append(found, fmt.Sprintf("version %d: after %d servers, these are not those of size %d with a %s: %v",
				e.version, before, mc.Spec.Size, wantedKind(mc), mc.Status.Servers))
		}
		before = count
	}
	return found
}
