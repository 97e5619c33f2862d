// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"net"
	"strings"
	"testing"
)

func TestMoreMemoryNeedsNoRestart(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inMemory(t))
	p.store(stored)
	conn := p.client()
	status := p.runs(p.assign(inMemory(t, "-m 64", "-m 128")))
	stats, err := conn.Stats(t.Context())
	must(t, err)
	if status.Restart != nil || p.stored(stored) != stored || stats["limit_maxbytes"] != "134217728" {
		t.Errorf("restart %+v, memory %s", status.Restart, stats["limit_maxbytes"])
	}
	less := p.runs(p.assign(inMemory(t)))
	if less.Restart == nil || less.Restart.ItemsAfter != 0 {
		t.Errorf("less memory: restart %+v", less.Restart)
	}
}

func TestMoreMemoryWaitsForAConnection(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.begin(inMemory(t, "-c 1055", "-c 100"))
	var open []net.Conn
	for range 150 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.options.Memcached)
		must(t, err)
		open = append(open, conn)
	}
	more := p.assign(inMemory(t, "-c 1055", "-c 100", "-m 64", "-m 128"))
	p.logs("trying again: ")
	for _, conn := range open {
		must(t, conn.Close())
	}
	if status := p.runs(more); status.Restart != nil || status.Refused != nil || strings.Count(p.logged(), "trying again: ") > 2 {
		t.Errorf("%+v; the parent logged:\n%s", status, p.logged())
	}
}
