// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package listener limits the connections of the small HTTP servers beside memcached.
package listener

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// PerHost is how many connections one IP address can have. The kubelet and each Prometheus server need only a few.
const PerHost = 4

// limitedListener limits connections, so that nobody can open so many that the kubelet's probes fail. A host is an IP address.
//
//   - If a host has PerHost connections, its new connection replaces its oldest idle one. The new connection may be the kubelet's,
//     because pods with hostNetwork have the kubelet's address. If no connection is idle, the new one is closed.
//   - If there are as many connections as the listener allows, a new connection replaces the oldest connection of the host with the
//     most connections. If no host has more than the host of the new connection, the new connection is closed.
type limitedListener struct {
	net.Listener

	mutex      sync.Mutex
	total, max int
	// hosts maps an IP address to the connections from this address, the oldest first.
	hosts map[string][]*limitedConn
}

// Limit returns a listener that allows this number of connections. The http.Server that uses it must have the ConnState NoteState.
func Limit(listener net.Listener, connections int) net.Listener { return limit(listener, connections) }

func limit(listener net.Listener, connections int) *limitedListener {
	return &limitedListener{Listener: listener, max: connections, hosts: map[string][]*limitedConn{}}
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
			_ = superfluous.Conn.Close() // an error changes nothing: the listener gives this connection up
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
	if conns := l.hosts[conn.host]; len(conns) >= PerHost {
		waiting := slices.IndexFunc(conns, func(c *limitedConn) bool { return !c.active })
		if waiting < 0 {
			return conn
		}
		superfluous = conns[waiting]
		l.forget(superfluous)
	}
	if l.total >= l.max {
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

// NoteState records whether a connection has a request.
func NoteState(conn net.Conn, state http.ConnState) {
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
