// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"strconv"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// Name is the value of memcached.NameLabel in the objects of a MemcachedProxy. Memcacheds have another value, so their selectors do
// not match these objects.
const Name = memcached.ProxyName

// RoutesSuffix ends the name of the ConfigMap with the routes of a MemcachedProxy.
const RoutesSuffix = "-routes"

// SelectorLabels returns the labels that select the pods of one MemcachedProxy.
func SelectorLabels(proxy *cachev1alpha1.MemcachedProxy) map[string]string {
	return IdentityOf(proxy.Name)
}

// IdentityOf returns the labels of the objects that belong to a MemcachedProxy of this name.
func IdentityOf(name string) map[string]string {
	return map[string]string{memcached.NameLabel: Name, memcached.InstanceLabel: name, memcached.ManagedByLabel: memcached.ManagedBy}
}

// role returns the role of the MemcachedProxy's pods.
func role(proxy *cachev1alpha1.MemcachedProxy) render.Role {
	return render.Role{Owner: proxy, Component: "proxy", Selector: SelectorLabels(proxy)}
}

// Address returns the address for clients as host:port. If the port without TLS is open, the address has that port.
func Address(proxy *cachev1alpha1.MemcachedProxy) string {
	port := memcached.ClientPorts(proxy.Spec.TLS)[0].Number
	return proxy.Name + "." + proxy.Namespace + ".svc:" + strconv.Itoa(int(port))
}
