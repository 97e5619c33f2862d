// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Desired is what a Memcached must be like. It is decided once in a reconcile, by desired.For, and handed down: the objects are
// written, and the status compares with the rest.
type Desired struct {
	// Objects are all that must exist. What exists and is not among them is to be deleted.
	Objects []client.Object
	// Former is the one of the objects that the nodes leave, nil if there is none. Only its metadata and its size matter: all else of
	// it is left as it is.
	Former client.Object
	// Record is what the status is to record when the workload has been written. A workload with another hash of the template runs
	// pods of an earlier spec.
	Record cachev1alpha1.MemcachedRecord
	// StaleDefaults says in words which defaults of the pods are older than the operator's, so that the next rollout replaces
	// them. Empty if there are none.
	StaleDefaults string
	// Changes are how the workload differs from the live one, as fields of the Memcached and with the sizes, as far as they explain
	// it. Only a paused Memcached has them.
	Changes []string
	// MaxSurge and MaxUnavailable are the limits of a rollout: numbers, or percentages of the size.
	MaxSurge, MaxUnavailable intstr.IntOrString
}
