// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"

	gomemcache "github.com/bradfitz/gomemcache/memcache"
)

// Server is a node as an application knows it.
type Server struct {
	// Name determines which keys the server owns. libmemcached uses the host as the name, and appends ":port" unless the port is 11211.
	Name string
	// Address is the host:port to dial. It is resolved for each new connection.
	Address string
}

// Ring maps each key to the server that owns it, as Ketama does. The order of the servers does not matter. A
// ring is immutable: if the servers change, create another ring.
type Ring struct {
	servers []Server // sorted by name
	owner   Owner
}

var _ gomemcache.ServerSelector = &Ring{}

// NewRing returns the ring of at least one server. Each server needs a unique name and an address.
func NewRing(servers ...Server) (*Ring, error) {
	if len(servers) == 0 {
		return nil, errors.New("a ring needs at least one server")
	}
	servers = slices.Clone(servers)
	slices.SortFunc(servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	names := make([]string, len(servers))
	for i, server := range servers {
		names[i] = server.Name
		switch {
		case server.Name == "" || server.Address == "":
			return nil, fmt.Errorf("a server needs a name and an address, got %q and %q", server.Name, server.Address)
		case i > 0 && server.Name == names[i-1]:
			return nil, fmt.Errorf("two servers are named %s", server.Name)
		}
	}
	return &Ring{servers: servers, owner: Ketama(names)}, nil
}

// Owner returns the server that owns a key.
func (r *Ring) Owner(key string) Server { return r.servers[r.owner(key)] }

// PickServer returns the address of the server that owns a key. It never fails.
func (r *Ring) PickServer(key string) (net.Addr, error) { return tcpAddress(r.Owner(key).Address), nil }

// Each calls the function visit with the address of each server, until visit returns an error.
func (r *Ring) Each(visit func(net.Addr) error) error {
	for _, server := range r.servers {
		if err := visit(tcpAddress(server.Address)); err != nil {
			return err
		}
	}
	return nil
}

// tcpAddress is a host:port. It is not a *net.TCPAddr for two reasons. gomemcache compares addresses with ==. And a
// host name must be resolved at each dial, because a recreated pod may have another IP address.
type tcpAddress string

// Network returns the network to dial.
func (tcpAddress) Network() string { return "tcp" }

// String returns the address to dial. gomemcache also finds idle connections by this text.
func (a tcpAddress) String() string { return string(a) }
