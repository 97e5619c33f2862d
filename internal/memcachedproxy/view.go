// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// View is all that decisions about a MemcachedProxy depend on.
type View struct {
	// Proxy may come from a cache and must not be changed.
	Proxy *cachev1alpha1.MemcachedProxy
	// Pool is the first Memcached in spec.pools. Copies are the others, in order. A Memcached that does not exist is nil.
	Pool   *cachev1alpha1.Memcached
	Copies []*cachev1alpha1.Memcached
	// Namesake is the Memcached with the same name as the MemcachedProxy, or nil.
	Namesake *cachev1alpha1.Memcached
	// Children are the existing objects of the Kinds in the table Children of this package. They may belong to another owner.
	Children []client.Object
	// Pods are the pods with the MemcachedProxy's labels, without those that have succeeded.
	Pods []corev1.Pod
	// Answers maps the UID of a pod to the answer of memcached's parent.
	Answers map[types.UID]Answer
	// Now is the API server's time.
	Now time.Time
}

// Answer is the answer of a proxy's parent.
type Answer struct {
	Status protocol.ProxyStatus
	// Failure is why there is no answer, or empty.
	Failure string
}

// Size returns the desired number of proxies.
func (v View) Size() int32 { return ptr.Deref(v.Proxy.Spec.Size, 2) }

// Pools returns all Memcacheds in spec.pools, in order.
func (v View) Pools() []*cachev1alpha1.Memcached {
	return append([]*cachev1alpha1.Memcached{v.Pool}, v.Copies...)
}

// Workload returns the Deployment of the MemcachedProxy, or nil.
func (v View) Workload() *memcached.Workload {
	return memcached.WorkloadOf(v.Proxy, SelectorLabels(v.Proxy), v.Children, func(*memcached.Workload) bool { return true })
}

// ConfigMap returns the ConfigMap with the routes. It returns nil if there is none, or if the ConfigMap belongs to another owner.
func (v View) ConfigMap() *corev1.ConfigMap {
	for _, object := range v.Children {
		if found, ok := object.(*corev1.ConfigMap); ok && (metav1.GetControllerOfNoCopy(found) == nil || metav1.IsControlledBy(found, v.Proxy)) {
			return found
		}
	}
	return nil
}
