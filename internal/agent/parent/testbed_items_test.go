// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"fmt"
	"strings"

	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/traffic"
)

func (p *pod) client() *memcache.Conn {
	p.t.Helper()
	var conn *memcache.Conn
	p.await("memcached accepts a connection", func() (err error) {
		conn, err = memcache.Dial(p.t.Context(), p.options.Memcached)
		return err
	})
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (p *pod) store(count int) {
	p.t.Helper()
	conn := p.client()
	for i := range count {
		reply, err := conn.Command(p.t.Context(), fmt.Sprintf("set key-%d 0 3600 100\r\n%s", i, strings.Repeat("v", 100)))
		must(p.t, err)
		if reply != "STORED" {
			p.t.Fatal(reply)
		}
	}
}

// stored returns how many of the items from store are still there.
func (p *pod) stored(count int) int {
	p.t.Helper()
	conn, found := p.client(), 0
	for i := range count {
		value, err := traffic.Read(p.t.Context(), conn, fmt.Sprintf("key-%d", i))
		must(p.t, err)
		if value != nil {
			found++
		}
	}
	return found
}

func (p *pod) setting(name string) string {
	p.t.Helper()
	settings, err := p.client().Stats(p.t.Context(), "settings")
	must(p.t, err)
	return settings[name]
}
