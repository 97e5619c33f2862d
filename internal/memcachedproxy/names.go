// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"strconv"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// Name is the value of memcached.NameLabel in the objects of a MemcachedProxy: no selector of a Memcached selects its pods.
const Name = memcached.ProxyName

// RoutesSuffix comes after the name of the MemcachedProxy in the name of the ConfigMap with its routes.
const RoutesSuffix = "-routes"

// SelectorLabels select the pods of one MemcachedProxy.
func SelectorLabels(proxy *cachev1alpha1.MemcachedProxy) map[string]string {
	return IdentityOf(proxy.Name)
}

// IdentityOf are the labels of what was made for a MemcachedProxy of the name.
func IdentityOf(name string) map[string]string {
	return map[string]string{memcached.NameLabel: Name, memcached.InstanceLabel: name, memcached.ManagedByLabel: memcached.ManagedBy}
}

func labelsOf(proxy *cachev1alpha1.MemcachedProxy, wanted map[string]cachev1alpha1.LabelValue) map[string]string {
	return render.Labels("proxy", wanted, SelectorLabels(proxy))
}

// Address is where clients connect.
func Address(proxy *cachev1alpha1.MemcachedProxy) string {
	port := memcached.PortsWith(proxy.Spec.TLS)[0].Number
	return proxy.Name + "." + proxy.Namespace + ".svc:" + strconv.Itoa(int(port))
}
