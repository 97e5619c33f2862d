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

const (
	kibibyte = int64(1) << 10
	mebibyte = int64(1) << 20
)

// The API's schema has the same defaults. These are for objects that were created without the schema.
const (
	defaultMemory      = 64 * mebibyte
	defaultThreads     = 4 // memcached's
	defaultMaxItemSize = mebibyte
	defaultConnections = 1024
)

// sizing is everything that determines the memory use of a memcached process.
type sizing struct {
	// memory is the memory for items in bytes, memcached -m.
	memory int64
	// connections is how many clients may be connected.
	connections int32
	// threads is the number of worker threads, memcached -t.
	threads int32
	// agent reports whether an agent connects to memcached. credentials reports whether it also checks certificates and users.
	agent, credentials bool
	// launcher reports whether a launcher runs memcached in the same container.
	launcher bool
	// tls reports whether clients may use TLS. plaintext reports whether they may connect without it.
	tls, plaintext bool
}

// minimum is the memory, in bytes, below which memcached can be killed although it respects its options. It is 7 to 15 MiB above
// the peak measured with memcached 1.6.45, in 38 combinations of memory, threads, connections and load: small items until eviction,
// then every size class, then clients that fill all buffers. Its parts are:
//
//   - the item memory;
//   - 39 MiB, since each of the 39 slab classes may take its first page of 1 MiB after the item memory is used up;
//   - the hash table, old and new, during its expansion;
//   - 11 MiB for the process itself and 0.1 MiB for each thread (measured: 0.07);
//   - 1 KiB for each connection (measured: 0.7);
//   - the buffers, which any client can fill to their limit, and which memcached keeps afterwards;
//   - with TLS, 5 MiB for the process and 42 KiB for each connection. Measured were 22 KiB if idle, 30 with a part of a command,
//     and 39 to 42 with unread responses: OpenSSL then has a buffer for each direction;
//   - 4 MiB for a launcher (measured: 2.9, with 20 connections and 60 requests).
//
// memcached does not limit a get line while it arrives. The limit's reserve covers that: 16 lines of 800 KB at once take at most 16 MiB.
func (s sizing) minimum() int64 {
	const slabOvershoot, process, perThread, perConnection = 39 * mebibyte, 11 * mebibyte, mebibyte / 10, kibibyte
	return s.memory + slabOvershoot + s.hashTable() + process + int64(s.threads)*perThread +
		int64(s.connections)*perConnection + s.buffers() + s.encryption() + s.parent()
}

// parent is the launcher's part, in bytes.
func (s sizing) parent() int64 {
	if s.launcher {
		return 4 * mebibyte
	}
	return 0
}

// encryption is the part for TLS, in bytes.
func (s sizing) encryption() int64 {
	const process, perConnection = 5 * mebibyte, 42 * kibibyte
	if !s.tls {
		return 0
	}
	return process + int64(s.connections)*perConnection
}

// buffers is memcached's read_buf_mem_limit in bytes, a whole number of MiB. Without this limit, one request of 400 KiB, a get of
// 200,000 keys, takes 240 MiB. The limit covers requests and responses. Each thread may allocate an equal part of it, in buffers of
// 16 KiB (thread.c, cache.c).
//
// One buffer holds what a connection has sent of a command. A get holds a response for each key until all responses are sent, and 13
// responses fit into a buffer. Without a free buffer, a thread closes a connection that sends a command, and refuses a get. So there is
// a buffer for each connection, and 7 MiB for each thread: a get of 5,000 keys takes 385 buffers, 6.02 MiB.
func (s sizing) buffers() int64 {
	const perConnection, perThread = 16 * kibibyte, 7 * mebibyte
	bytes := int64(s.connections)*perConnection + int64(s.threads)*perThread
	return (bytes + mebibyte - 1) / mebibyte * mebibyte
}

// hashTable is the largest size of the hash table in bytes. The table has 2^power buckets of 8 bytes, starts at power 16, and doubles at
// more than 1.5 items a bucket. While it doubles, the old table of half the size exists as well (assoc.c). A page of 1 MiB holds at most
// 10922 items, of 96 bytes each.
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

// limit is the default memory limit in bytes, in whole MiB. It adds a reserve to the minimum for kernel memory that counts for the
// container: socket buffers of slow readers, page cache.
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

// connectionLimit is memcached's -c for this number of clients. Of -c, memcached takes 8 file descriptors for itself, 5 for each thread,
// and one for each listener but the first. With a -c below about 5 for each thread and 32 more, memcached does not start.
//
// Clients must not use up the connections of others. The kubelet's two probes need one connection each. An agent needs four: one for
// metrics, one for readiness, and as many that memcached has not closed yet. With credentials, the agent needs nine more for a handshake
// and a login of each of 8 users. A launcher needs two more.
func (s sizing) connectionLimit() int32 {
	const process, perThread, probes, questions, readings, proofs, least = 8, 5, 2, 2, 4, 9, 32
	limit := perThread*s.threads + max(s.connections+process+s.listeners()-1+probes, least)
	if s.launcher {
		limit += questions
	}
	if s.agent {
		limit += readings
	}
	if s.credentials {
		limit += proofs
	}
	return limit
}

// listeners returns the number of sockets on which memcached listens: one each for IPv4 and IPv6 for each client port. Without a
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

// sizingOf returns the sizing for a spec.
func sizingOf(mc *cachev1alpha1.Memcached) sizing {
	s := sizing{
		memory:      defaultMemory,
		connections: mc.Spec.Config.MaxConnections,
		threads:     render.Threads(mc.Spec.Config.Threads, mc.Spec.Resources, defaultThreads),
		agent:       memcached.WantsAgent(mc),
		credentials: agentOf(mc, podDefaults{}).HasCredentials(),
		launcher:    hasLauncher(mc),
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
