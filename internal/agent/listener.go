// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// Limits of connections to the agent: in total, and from one IP address. The kubelet and each Prometheus server need only a few.
const (
	maxConnections        = 64
	maxConnectionsPerHost = 4
)

// limitedListener limits connections, so that nobody can open so many that the kubelet's probes fail. At maxConnectionsPerHost, a
// host's new connection replaces the host's oldest idle connection, because the new one may be the kubelet's: pods with hostNetwork
// have the kubelet's address. If none is idle, the new connection is closed. At maxConnections, a new connection replaces the
// oldest connection of the host with the most connections. If no host has more connections than the host of the new connection, the
// new connection is closed.
type limitedListener struct {
	net.Listener

	mutex sync.Mutex
	total int
	// hosts maps an IP address to the connections from this address, the oldest first.
	hosts map[string][]*limitedConn
}

func limit(listener net.Listener) *limitedListener {
	return &limitedListener{Listener: listener, hosts: map[string][]*limitedConn{}}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(accepted.RemoteAddr().String())
		conn := &limitedConn{Conn: accepted, listener: l, host: host}
		superfluous := conn
		if err == nil {
			superfluous = l.admit(conn)
		}
		if superfluous != nil {
			_ = superfluous.Conn.Close() // an error changes nothing: the agent has given the connection up
		}
		if superfluous != conn {
			return conn, nil
		}
	}
}

// admit returns the connection that must be closed because of a limit, or nil. It counts the new connection, unless the new connection
// is the one to close.
func (l *limitedListener) admit(conn *limitedConn) (superfluous *limitedConn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if conns := l.hosts[conn.host]; len(conns) >= maxConnectionsPerHost {
		waiting := slices.IndexFunc(conns, func(c *limitedConn) bool { return !c.active })
		if waiting < 0 {
			return conn
		}
		superfluous = conns[waiting]
		l.forget(superfluous)
	}
	if l.total >= maxConnections {
		most := conn.host
		for host, conns := range l.hosts {
			if len(conns) > len(l.hosts[most]) {
				most = host
			}
		}
		if most == conn.host {
			return conn
		}
		superfluous = l.hosts[most][0]
		l.forget(superfluous)
	}
	l.total++
	l.hosts[conn.host] = append(l.hosts[conn.host], conn)
	return superfluous
}

// forget stops counting a connection.
func (l *limitedListener) forget(conn *limitedConn) {
	conns := l.hosts[conn.host]
	at := slices.Index(conns, conn)
	if at < 0 {
		return
	}
	l.total--
	if l.hosts[conn.host] = slices.Delete(conns, at, at+1); len(conns) == 1 {
		delete(l.hosts, conn.host)
	}
}

// limitedConn is a connection that a limitedListener counts until the connection is closed.
type limitedConn struct {
	net.Conn

	listener *limitedListener
	host     string
	// active is true while the connection has a request.
	active bool
}

// noteState records whether a connection has a request. It is the ConnState of the agent's http.Server.
func noteState(conn net.Conn, state http.ConnState) {
	if conn, ok := conn.(*limitedConn); ok {
		conn.note(state)
	}
}

func (c *limitedConn) note(state http.ConnState) {
	c.listener.mutex.Lock()
	defer c.listener.mutex.Unlock()
	c.active = state == http.StateActive
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.listener.mutex.Lock()
	c.listener.forget(c)
	c.listener.mutex.Unlock()
	return c.Conn.Close()
}
