// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
)

// HasProxies reports whether the spec puts proxies in front of the nodes: by spec.proxy, or because only proxies can use several copies.
// Only a StatefulSet has nodes to which proxies could route.
func HasProxies(mc *cachev1alpha1.Memcached) bool {
	return Copies(mc) > 1 || mc.Spec.Proxy != nil && IsStatefulSet(mc)
}

// Proxy returns what the spec says about the proxies.
func Proxy(mc *cachev1alpha1.Memcached) cachev1alpha1.MemcachedProxy {
	return ptr.Deref(mc.Spec.Proxy, cachev1alpha1.MemcachedProxy{})
}

// NodeTLS returns the TLS settings of the nodes, nil without TLS. With proxies, TLS ends there.
func NodeTLS(mc *cachev1alpha1.Memcached) *cachev1alpha1.MemcachedTLS {
	if HasProxies(mc) {
		return nil
	}
	return mc.Spec.TLS
}

// ClientHost returns the DNS name of the Service of the proxies.
func ClientHost(mc *cachev1alpha1.Memcached) string { return mc.Name + "." + mc.Namespace + ".svc" }

// Address returns the address of the proxies as host:port, empty without proxies. If the port without TLS is open, the address has that
// port.
func Address(mc *cachev1alpha1.Memcached) string {
	if !HasProxies(mc) {
		return ""
	}
	return ClientHost(mc) + ":" + strconv.Itoa(int(ClientPorts(mc.Spec.TLS)[0].Number))
}

// ProxyWorkload returns the Deployment of the proxies, or nil.
func (v View) ProxyWorkload() *Workload {
	mc := v.Memcached
	return WorkloadOf(mc, ProxyLabels(mc.Name), v.Children, func(w *Workload) bool {
		return w.Kind == cachev1alpha1.WorkloadDeployment && w.GetName() == mc.Name+ProxySuffix
	})
}

// ProxyPods returns the proxies that are neither terminating nor failed, sorted by name.
func (v View) ProxyPods() []*corev1.Pod { return v.ProxyWorkload().Nodes(v.Proxies) }

// DefaultProxies is the number of proxies that the operator creates if the spec names none.
const DefaultProxies = 2

// ProxySize returns the desired number of proxies. Without spec.proxy.size, others decide about the number of existing proxies.
func (v View) ProxySize() int32 {
	switch wanted, live := Proxy(v.Memcached), v.ProxyWorkload(); {
	case wanted.Size != nil:
		return *wanted.Size
	case live != nil:
		return live.Size
	default:
		return DefaultProxies
	}
}

// RoutesObject returns the ConfigMap with the routes. It returns nil if there is none, or if the ConfigMap belongs to another owner.
func (v View) RoutesObject() *corev1.ConfigMap {
	i := slices.IndexFunc(v.Children, func(child client.Object) bool {
		found, ok := child.(*corev1.ConfigMap)
		return ok && found.Name == v.Memcached.Name+RoutesSuffix &&
			(metav1.GetControllerOfNoCopy(found) == nil || metav1.IsControlledBy(found, v.Memcached))
	})
	if i < 0 {
		return nil
	}
	return v.Children[i].(*corev1.ConfigMap) //nolint:forcetypeassert // see above
}

// Routes returns the routes in the ConfigMap, nil if there are none or they cannot be parsed.
func (v View) Routes() *protocol.Routes {
	found := v.RoutesObject()
	if found == nil {
		return nil
	}
	routes, err := protocol.ParseRoutes(found.Data[protocol.RoutesKey])
	if err != nil {
		return nil
	}
	return &routes
}

// NodesOfRoutes returns the number of nodes over which proxies may spread the keys, and false if it is unknown.
func (v View) NodesOfRoutes() (count int, known bool) {
	count = v.knownServers()
	return count, count > 0 || v.Memcached.Spec.Size == 0 && v.Last.Generation == v.Memcached.Generation
}
