// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// View is all that decisions about a MemcachedProxy follow from.
type View struct {
	// Proxy as it was read. It may come from a cache: nothing may change it.
	Proxy *cachev1alpha1.MemcachedProxy
	// Pool is the first Memcached of spec.pools, and Copies are the others, in their order. Those that do not exist are nil.
	Pool   *cachev1alpha1.Memcached
	Copies []*cachev1alpha1.Memcached
	// Namesake is the Memcached that has the name of the MemcachedProxy, nil if there is none.
	Namesake *cachev1alpha1.Memcached
	// Children are the objects of the Kinds in Children that exist. They may belong to somebody else.
	Children []client.Object
	// Pods have the labels of the MemcachedProxy and have not succeeded.
	Pods []corev1.Pod
	// Answers are those of the launchers that were asked, by the UID of the pod.
	Answers map[types.UID]Answer
	// PendingCreate reports that the cache has not received an object that was created.
	PendingCreate bool
	// Now is the time of the API server, as in objects.
	Now time.Time
}

// Answer is what the launcher of a proxy has answered.
type Answer struct {
	Status protocol.ProxyStatus
	// Failure is why there is no answer, empty if there is one.
	Failure string
}

// Size is how many proxies are wanted.
func (v View) Size() int32 { return ptr.Deref(v.Proxy.Spec.Size, 2) }

// Pools are all Memcacheds of spec.pools, in their order.
func (v View) Pools() []*cachev1alpha1.Memcached {
	return append([]*cachev1alpha1.Memcached{v.Pool}, v.Copies...)
}

// Workload is the Deployment of the MemcachedProxy, nil if there is none. One that was made for a MemcachedProxy of the name and that has
// no owner any more belongs to it.
func (v View) Workload() *memcached.Workload {
	for _, object := range v.Children {
		w := memcached.AsWorkload(object)
		if w == nil {
			continue
		}
		orphaned := metav1.GetControllerOfNoCopy(w) == nil && w.TemplateHash() != "" && maps.Equal(w.Selector, SelectorLabels(v.Proxy))
		if orphaned || metav1.IsControlledBy(w, v.Proxy) {
			return w
		}
	}
	return nil
}

// ConfigMap is that with the routes, nil if there is none that belongs to the MemcachedProxy.
func (v View) ConfigMap() *corev1.ConfigMap {
	for _, object := range v.Children {
		if found, ok := object.(*corev1.ConfigMap); ok && (metav1.GetControllerOfNoCopy(found) == nil || metav1.IsControlledBy(found, v.Proxy)) {
			return found
		}
	}
	return nil
}

// discoverable reports whether a Service leads clients to the proxies, whomever it belongs to.
func (v View) discoverable() bool {
	return slices.ContainsFunc(v.Children, func(object client.Object) bool {
		service, ok := object.(*corev1.Service)
		return ok && maps.Equal(service.Spec.Selector, SelectorLabels(v.Proxy))
	})
}

// after returns the view after a write, which was answered with the given objects.
func (v View) after(answers []client.Object) View {
	v.Children = slices.Clone(v.Children)
	for _, object := range answers {
		same := func(child client.Object) bool {
			return reflect.TypeOf(child) == reflect.TypeOf(object) && child.GetName() == object.GetName()
		}
		if i := slices.IndexFunc(v.Children, same); i >= 0 {
			v.Children[i] = object
		} else {
			v.Children = append(v.Children, object)
		}
	}
	return v
}
