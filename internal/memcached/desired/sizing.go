// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// resourcesOf returns container resources with the memory limit from the spec, or else the default limit, if any. A limit without a request
// also becomes the request, as in the API server. For memory this matters, because a cluster node without free memory first kills pods that
// use more than they request.
func resourcesOf(wanted cachev1alpha1.MemcachedResources, defaultLimit string) corev1.ResourceRequirements {
	memoryLimit, given := givenLimit(wanted)
	if !given {
		memoryLimit = resource.MustParse(cmp.Or(defaultLimit, "0"))
	}
	resources := corev1.ResourceRequirements{Limits: rounded(wanted.Limits), Requests: rounded(wanted.Requests)}
	resources.Limits[corev1.ResourceMemory] = roundedUp(corev1.ResourceMemory, memoryLimit)
	for name, limit := range resources.Limits {
		if _, ok := resources.Requests[name]; !ok {
			resources.Requests[name] = limit
		}
	}
	return resources
}

// givenLimit returns the memory limit in the spec, or else the memory request. given is false if the spec has neither.
func givenLimit(wanted cachev1alpha1.MemcachedResources) (limit resource.Quantity, given bool) {
	if limit, given = wanted.Limits[corev1.ResourceMemory]; !given {
		limit, given = wanted.Requests[corev1.ResourceMemory]
	}
	return limit, given
}

// threadCount returns the number of memcached's worker threads: the number in the spec, or else the CPU limit rounded up, 64 at most. More
// threads than CPUs would only wait for each other. If the spec has neither, threadCount returns withoutLimit.
func threadCount(inSpec int32, wanted cachev1alpha1.MemcachedResources, withoutLimit int32) int32 {
	const most = 64
	cpu, limited := wanted.Limits[corev1.ResourceCPU]
	switch {
	case inSpec != 0:
		return inSpec
	case limited:
		return int32(min(max(cpu.Value(), 1), most))
	default:
		return withoutLimit
	}
}

// rounded rounds quantities so that the API server stores them unchanged. Otherwise, each reconcile would find a difference, and
// update the object.
func rounded(list corev1.ResourceList) corev1.ResourceList {
	result := make(corev1.ResourceList, len(list))
	for name, quantity := range list {
		result[name] = roundedUp(name, quantity)
	}
	return result
}

// roundedUp rounds CPU up to thousandths and other quantities up to whole numbers. The API server warns about fractions of a byte.
func roundedUp(name corev1.ResourceName, quantity resource.Quantity) resource.Quantity {
	scale := resource.Scale(0)
	if name == corev1.ResourceCPU {
		scale = resource.Milli
	}
	result := quantity.DeepCopy()
	result.RoundUp(scale)
	return result
}

const (
	kibibyte = int64(1) << 10
	mebibyte = int64(1) << 20
)

// Defaults for objects that were created without the API's schema, which has the same defaults.
const (
	defaultMemory      = 64 * mebibyte
	defaultThreads     = 4 // memcached's own default
	defaultMaxItemSize = mebibyte
	defaultConnections = 1024
)

// sizing has everything on which the memory limit of memcached's container and the option -c depend.
type sizing struct {
	// memory is the memory for items, in bytes. memcached -m has it in MiB.
	memory int64
	// connections is the number of clients that may be connected.
	connections int32
	// threads is the number of worker threads, memcached -t.
	threads int32
	// statefulSet reports that memcached's parent runs in the same container, and that a sidecar connects to memcached. credentials
	// reports that the agent also checks certificates or users.
	statefulSet, credentials bool
	// tls reports that clients may use TLS. plaintext reports that they may connect without TLS.
	tls, plaintext bool
}

// minimum is the memory limit, in bytes, below which the kernel may kill a memcached that respects its options. It is 7 to 15 MiB
// above the peaks measured with memcached 1.6.45 under the worst load: small items until eviction, then every size class, then
// clients that fill all buffers.
func (s sizing) minimum() int64 {
	// After the item memory is used up, each of the 39 slab classes may still take its first page of 1 MiB. Measured were 0.07 MiB for
	// a thread and 0.7 KiB for a connection. Not included is the memory for long "get" lines, which memcached does not limit
	// while they arrive. The reserve in the method limit covers it: 16 lines of 800 KB at once take at most 16 MiB.
	const slabOvershoot, process, perThread, perConnection = 39 * mebibyte, 11 * mebibyte, mebibyte / 10, kibibyte
	return s.memory + slabOvershoot + s.hashTable() + process + int64(s.threads)*perThread +
		int64(s.connections)*perConnection + s.buffers() + s.encryption() + s.parent()
}

// parent is the parent's part of the minimum, in bytes. Measured were 2.9 MiB, with 20 connections and 60 requests.
func (s sizing) parent() int64 {
	if s.statefulSet {
		return 4 * mebibyte
	}
	return 0
}

// encryption is the part of the minimum for TLS, in bytes. Measured for each connection: 22 KiB if idle, 30 KiB with a part of a
// command, and 39 to 42 KiB with unread responses. OpenSSL then has a buffer for each direction.
func (s sizing) encryption() int64 {
	const process, perConnection = 5 * mebibyte, 42 * kibibyte
	if !s.tls {
		return 0
	}
	return process + int64(s.connections)*perConnection
}

// buffers is memcached's option read_buf_mem_limit in bytes, a whole number of MiB. It limits the buffers of 16 KiB for requests
// and responses, of which each thread may allocate an equal share (thread.c, cache.c). If a thread has no free buffer when a
// command arrives, it closes the connection. If the responses to a "get" need more buffers than are free, it refuses the "get".
// Without the limit, one "get" of 200,000 keys (400 KiB) takes 240 MiB.
func (s sizing) buffers() int64 {
	// A connection may hold one buffer with a part of a command. A "get" of 5,000 keys needs 385 more buffers (6.02 MiB) in its
	// thread: a buffer holds 13 responses, and all responses are kept until the last one is sent.
	const perConnection, perThread = 16 * kibibyte, 7 * mebibyte
	bytes := int64(s.connections)*perConnection + int64(s.threads)*perThread
	return (bytes + mebibyte - 1) / mebibyte * mebibyte
}

// hashTable is the largest size of the hash table in bytes. The table has 2^power buckets of 8 bytes. It starts with power 16, and
// doubles when it has more than 1.5 items for each bucket. While it doubles, the old table of half the size exists as well
// (assoc.c). A page of 1 MiB holds at most 10922 items, which take 96 bytes each.
func (s sizing) hashTable() int64 {
	const initialPower, itemsPerPage = 16, 10922
	items := s.memory / mebibyte * itemsPerPage
	power := initialPower
	for int64(3)<<power/2 < items {
		power++
	}
	if power == initialPower {
		return 8 << power
	}
	return 12 << power
}

// limit is the default memory limit in bytes, a whole number of MiB. It is the minimum plus a reserve for long "get" lines, and for
// kernel memory that counts for the container: socket buffers of slow readers, and page cache.
func (s sizing) limit() int64 {
	reserve := max(32*mebibyte, s.memory/20)
	return (s.minimum() + reserve + mebibyte - 1) / mebibyte * mebibyte
}

// check returns an error if a memory limit is too small.
func (s sizing) check(limit resource.Quantity) error {
	if limit.Value() >= s.minimum() {
		return nil
	}
	connections := "connections"
	if s.tls {
		connections = "TLS connections"
	}
	return fmt.Errorf("the memory limit is %s, but memcached with %dMi of item memory, %d %s and %d threads "+
		"needs at least %dMi: raise spec.resources.limits.memory, or lower spec.config.memory, maxConnections or threads",
		limit.String(), s.memory/mebibyte, s.connections, connections, s.threads, (s.minimum()+mebibyte-1)/mebibyte)
}

// leastConnections is the least -c with which memcached starts, without 5 for each thread.
const leastConnections = 32

// connectionLimit is the value of memcached's option -c with which s.connections clients can connect.
func (s sizing) connectionLimit() int32 {
	own, others := s.otherConnections()
	return max(s.connections+own, leastConnections) + others
}

// otherConnections returns what counts against -c but is no client, so that clients cannot use up the connections of others. memcached also
// counts 8 file descriptors of its own, 5 for each thread, and one for each listener but the first. The kubelet's two probes need one each.
// In a StatefulSet, the parent needs two more, and the sidecar four: one for metrics, one for readiness, and two earlier ones that
// memcached has not closed yet. With credentials, the agent needs nine more, for a handshake and for a login of each of 8 users.
func (s sizing) otherConnections() (own, others int32) {
	const process, perThread, probes, questions, proofs = 8, 5, 2, 2 + 4, 9
	own, others = process+s.listeners()-1+probes, perThread*s.threads
	if s.statefulSet {
		others += questions
	}
	if s.credentials {
		others += proofs
	}
	return own, others
}

// listeners returns the number of sockets on which memcached listens: one for IPv4 and one for IPv6 for each client port. Without a
// plaintext port, there is one more for the agent.
func (s sizing) listeners() int32 {
	const each, agent = 2, 1
	switch {
	case !s.tls:
		return each
	case s.plaintext:
		return each + each
	default:
		return each + agent
	}
}

func sizingOf(mc *cachev1alpha1.Memcached) sizing {
	s := sizing{
		memory:      defaultMemory,
		connections: mc.Spec.Config.MaxConnections,
		threads:     threadCount(mc.Spec.Config.Threads, mc.Spec.Resources, defaultThreads),
		statefulSet: memcached.IsStatefulSet(mc),
		credentials: mc.Spec.TLS != nil || mc.Spec.Auth != nil,
		tls:         mc.Spec.TLS != nil,
		plaintext:   memcached.HasPlaintext(mc),
	}
	if mc.Spec.Config.Memory != nil {
		s.memory = mc.Spec.Config.Memory.Value()
	}
	if s.connections == 0 {
		s.connections = defaultConnections
	}
	return s
}

// checkMemoryLimit returns a problem if the spec sets a memory limit that is too small. Pods that do not change keep such a limit.
func checkMemoryLimit(mc *cachev1alpha1.Memcached, changed bool) *memcached.Problem {
	limit, given := givenLimit(mc.Spec.Resources)
	if !given || !changed {
		return nil
	}
	if err := sizingOf(mc).check(limit); err != nil {
		return &memcached.Problem{Reason: cachev1alpha1.ReasonInvalidSpec, Message: err.Error()}
	}
	return nil
}

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
	limit, given := givenLimit(memcached.Proxy(mc).Resources)
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
