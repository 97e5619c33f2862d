// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// InvalidError reports that a spec cannot be carried out. Only its author can fix it.
type InvalidError struct {
	// Reason is a reason of the Degraded condition.
	Reason string
	// Message names the field and the fix.
	Message string
}

// Error implements error.
func (e *InvalidError) Error() string { return e.Message }

// Desired returns the objects that a Memcached must have. What exists and is not among them is to be deleted. The error is an
// *InvalidError: the pods that the spec leads to must not be made, and those that run stay as they are. All else is as it should
// be.
func Desired(mc *cachev1alpha1.Memcached, observed Observed, opts Options) ([]client.Object, error) {
	mc = mc.DeepCopy() // the objects share nothing with what may come from a cache
	objects := []client.Object{Service(mc)}
	if wantsBudget(mc) {
		objects = append(objects, PodDisruptionBudget(mc))
	}
	if wantsNetworkPolicy(mc) {
		objects = append(objects, NetworkPolicy(mc))
	}
	deployment, err := Deployment(mc, observed, opts)
	return append(objects, deployment), err
}

func wantsBudget(mc *cachev1alpha1.Memcached) bool {
	return ptr.Deref(mc.Spec.PodDisruptionBudget.Enabled, true)
}

// wantsNetworkPolicy reports whether there is to be a NetworkPolicy. Who lists clients wants one.
func wantsNetworkPolicy(mc *cachev1alpha1.Memcached) bool {
	return ptr.Deref(mc.Spec.NetworkPolicy.Enabled, len(mc.Spec.NetworkPolicy.From) > 0)
}
