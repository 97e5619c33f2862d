// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"cmp"
	"crypto/md5" //nolint:gosec // ketama is defined with MD5, and protects nothing
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sort"
	"strconv"

	"github.com/bradfitz/gomemcache/memcache"
)

// Each server has 160 points on a ring: four for each of 40 digests.
const digestsPerServer, pointsPerDigest = 40, 4

// Server is a node as an application knows it.
type Server struct {
	// Name determines which keys the server owns, and nothing else. To agree with libmemcached, it must be the host, followed
	// by :port unless that is 11211.
	Name string
	// Address is the host:port to dial. It is resolved for each new connection.
	Address string
}

// Ring maps each key to the server that owns it. It is the ketama ring of libmemcached
// (MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED with equal weights), which most clients support:
//
//   - The points of a server are the MD5 digests of "NAME-0" to "NAME-39", each cut into four little-endian uint32.
//   - The hash of a key is the first little-endian uint32 of its MD5 digest.
//   - The owner of a key has the first point that is not below its hash, or the lowest point of all.
//
// The order of the servers does not matter. A ring is immutable: other members form another ring.
type Ring struct {
	servers []Server // by name
	points  []point  // by hash
}

// point is the end of a range of hashes that belongs to a server.
type point struct {
	hash   uint32
	server int // index of Ring.servers
}

var _ memcache.ServerSelector = &Ring{}

// NewRing returns the ring of at least one server. Names must be unique.
func NewRing(servers ...Server) (*Ring, error) {
	if len(servers) == 0 {
		return nil, errors.New("a ring needs at least one server")
	}
	ring := &Ring{servers: slices.Clone(servers)}
	slices.SortFunc(ring.servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	for i, server := range ring.servers {
		switch {
		case server.Name == "" || server.Address == "":
			return nil, fmt.Errorf("a server needs a name and an address, got %q and %q", server.Name, server.Address)
		case i > 0 && server.Name == ring.servers[i-1].Name:
			return nil, fmt.Errorf("two servers are named %s", server.Name)
		}
		ring.points = append(ring.points, pointsOf(server.Name, i)...)
	}
	// If two servers have the same point, it belongs to the one whose name comes first, so that the order of the list does not
	// matter.
	slices.SortStableFunc(ring.points, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })
	return ring, nil
}

func pointsOf(name string, server int) []point {
	points := make([]point, 0, digestsPerServer*pointsPerDigest)
	for i := range digestsPerServer {
		digest := md5.Sum([]byte(name + "-" + strconv.Itoa(i))) //nolint:gosec // as at the import
		for part := range pointsPerDigest {
			points = append(points, point{hash: binary.LittleEndian.Uint32(digest[part*4:]), server: server})
		}
	}
	return points
}

// Owner returns the server that owns a key.
func (r *Ring) Owner(key string) Server { return r.servers[r.owner(key)] }

// owner returns the index of the server that owns a key.
func (r *Ring) owner(key string) int {
	digest := md5.Sum([]byte(key)) //nolint:gosec // as at the import
	hash := binary.LittleEndian.Uint32(digest[:])
	i := sort.Search(len(r.points), func(i int) bool { return r.points[i].hash >= hash })
	return r.points[i%len(r.points)].server
}

// PickServer returns the address of the server that owns a key. It never fails.
func (r *Ring) PickServer(key string) (net.Addr, error) { return tcpAddress(r.Owner(key).Address), nil }

// Each calls a function with the address of each server until it fails.
func (r *Ring) Each(visit func(net.Addr) error) error {
	for _, server := range r.servers {
		if err := visit(tcpAddress(server.Address)); err != nil {
			return err
		}
	}
	return nil
}

// tcpAddress is a host:port. It is not a *net.TCPAddr for two reasons: the client in package memcache groups keys by comparing
// addresses with ==, and a host name must be resolved when it is dialed, because a recreated pod may have another IP address.
type tcpAddress string

// Network returns the network to dial.
func (tcpAddress) Network() string { return "tcp" }

// String returns the address to dial. Package memcache uses it as the key of idle connections.
func (a tcpAddress) String() string { return string(a) }
