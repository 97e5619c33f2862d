// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"sync"
)

// Connections of HTTP clients. The kubelet and two Prometheus servers with two connections each need five.
const (
	maxConnections        = 64
	maxConnectionsPerHost = 8
)

// limitedListener closes connections beyond the limits. Each host has its own, so that one that opens connections and does
// nothing with them does not keep the kubelet from asking for readiness.
type limitedListener struct {
	net.Listener

	mutex sync.Mutex
	total int
	hosts map[string]int
}

func limit(listener net.Listener) *limitedListener {
	return &limitedListener{Listener: listener, hosts: map[string]int{}}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err == nil && l.admit(host) {
			return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { l.release(host) })}, nil
		}
		_ = conn.Close() // the client sees it
	}
}

func (l *limitedListener) admit(host string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.total >= maxConnections || l.hosts[host] >= maxConnectionsPerHost {
		return false
	}
	l.total++
	l.hosts[host]++
	return true
}

func (l *limitedListener) release(host string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.total--
	l.hosts[host]--
	if l.hosts[host] == 0 {
		delete(l.hosts, host)
	}
}

// limitedConn counts until it is closed.
type limitedConn struct {
	net.Conn

	release func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
