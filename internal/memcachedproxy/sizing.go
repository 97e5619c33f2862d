// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

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
//   - ownMemory: memcached takes 8 MiB, and its parent 8 MiB.
//   - memoryPerThread: the parent limits the responses that clients have not read to 16 MiB for each thread. In memcached, they take
//     up to twice as much memory.
//   - memoryPerConnection: an unfinished command takes 5 KiB.
//   - tlsMemory and tlsMemoryPerConnection: TLS takes as much memory as in a node.
const (
	mebibyte            = int64(1 << 20)
	ownMemory           = 24 * mebibyte
	memoryPerThread     = 40 * mebibyte
	memoryPerConnection = int64(8 << 10)

	tlsMemory              = 5 * mebibyte
	tlsMemoryPerConnection = int64(42 << 10)
)

// model returns how much memory a proxy needs, rounded up to whole MiB.
func model(proxy *cachev1alpha1.MemcachedProxy) *resource.Quantity {
	bytes := ownMemory + int64(threads(proxy))*memoryPerThread + int64(connections(proxy))*memoryPerConnection
	if proxy.Spec.TLS != nil {
		bytes += tlsMemory + int64(connections(proxy))*tlsMemoryPerConnection
	}
	return resource.NewQuantity((bytes+mebibyte-1)/mebibyte*mebibyte, resource.BinarySI)
}

// checkMemoryLimit returns a problem if the memory limit in spec.resources is less than a proxy needs.
func checkMemoryLimit(proxy *cachev1alpha1.MemcachedProxy) *memcached.Problem {
	limit, given := render.MemoryLimit(proxy.Spec.Resources)
	need := model(proxy)
	if !given || limit.Cmp(*need) >= 0 {
		return nil
	}
	kind := "connections"
	if proxy.Spec.TLS != nil {
		kind = "TLS connections"
	}
	return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: fmt.Sprintf("spec.resources.limits.memory is %s, but a "+
		"proxy with %d %s and threads: %d needs at least %s: raise it, or lower spec.config.threads or maxConnections",
		&limit, connections(proxy), kind, threads(proxy), need)}
}
