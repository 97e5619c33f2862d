// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"maps"
	"strconv"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// Name is the value of memcached.NameLabel in the objects of a MemcachedProxy: no selector of a Memcached selects its pods.
const Name = memcached.ProxyName

// RoutesSuffix follows the name of a MemcachedProxy in that of the ConfigMap with its routes.
const RoutesSuffix = "-routes"

// Labels that only describe an object. A user may set them on the pods and the Service.
const (
	componentLabel = "app.kubernetes.io/component"
	component      = "proxy"
	partOfLabel    = "app.kubernetes.io/part-of"
	partOf         = "memcached"
)

// SelectorLabels select the pods of one MemcachedProxy.
func SelectorLabels(proxy *cachev1alpha1.MemcachedProxy) map[string]string {
	return IdentityOf(proxy.Name)
}

// IdentityOf are the labels of what was made for a MemcachedProxy of the name.
func IdentityOf(name string) map[string]string {
	return map[string]string{memcached.NameLabel: Name, memcached.InstanceLabel: name, memcached.ManagedByLabel: memcached.ManagedBy}
}

// labelsOf are the labels of an object: those that describe it, those that the user wants, and above all those by which it is found.
func labelsOf(proxy *cachev1alpha1.MemcachedProxy, wanted map[string]cachev1alpha1.LabelValue) map[string]string {
	labels := map[string]string{componentLabel: component, partOfLabel: partOf}
	for key, value := range wanted {
		labels[key] = string(value)
	}
	maps.Copy(labels, SelectorLabels(proxy))
	return labels
}

// Address is where clients connect.
func Address(proxy *cachev1alpha1.MemcachedProxy) string {
	port := memcached.PortsWith(proxy.Spec.TLS)[0].Number
	return proxy.Name + "." + proxy.Namespace + ".svc:" + strconv.Itoa(int(port))
}
