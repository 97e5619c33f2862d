// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// The memory of a proxy. The sizes that do not concern TLS exceed what was measured with memcached 1.6.45. The rest is for requested keys
// and for values on their way to nodes. Measured:
//
//   - proxyProcess: memcached takes 8 MiB, and its parent 8 MiB.
//   - proxyPerThread: the parent limits the responses that clients have not read to 16 MiB for each thread. In memcached, they take
//     up to twice as much memory.
//   - proxyPerConnection: an unfinished command takes 5 KiB.
//   - proxyTLS and proxyTLSPerConnection: TLS takes as much memory as in a node.
const (
	proxyProcess       = 24 * mebibyte
	proxyPerThread     = 40 * mebibyte
	proxyPerConnection = 8 * kibibyte

	proxyTLS              = 5 * mebibyte
	proxyTLSPerConnection = 42 * kibibyte
)

// proxyNeed returns how much memory a proxy needs, rounded up to whole MiB.
func proxyNeed(mc *cachev1alpha1.Memcached) *resource.Quantity {
	connections := int64(proxyConnections(mc))
	bytes := proxyProcess + int64(proxyThreads(mc))*proxyPerThread + connections*proxyPerConnection
	if mc.Spec.TLS != nil {
		bytes += proxyTLS + connections*proxyTLSPerConnection
	}
	return resource.NewQuantity((bytes+mebibyte-1)/mebibyte*mebibyte, resource.BinarySI)
}

// checkProxyMemory returns a problem if the memory limit in spec.proxy.resources is less than a proxy needs.
func checkProxyMemory(mc *cachev1alpha1.Memcached) *memcached.Problem {
	limit, given := render.MemoryLimit(memcached.Proxy(mc).Resources)
	need := proxyNeed(mc)
	if !given || limit.Cmp(*need) >= 0 {
		return nil
	}
	kind := "connections"
	if mc.Spec.TLS != nil {
		kind = "TLS connections"
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: fmt.Sprintf("spec.proxy.resources.limits.memory is %s, but a "+
		"proxy with %d %s and threads: %d needs at least %s: raise it, or lower spec.proxy.threads or spec.config.maxConnections",
		&limit, proxyConnections(mc), kind, proxyThreads(mc), need)}
}
