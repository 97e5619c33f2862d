// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Even if clients request much and read nothing, memcached must not take more than 24 MiB plus 40 MiB for each thread, and other
// clients can still store values.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conn, value := p.client(), strings.Repeat("x", 100_000)
	for _, key := range keys(100) {
		if reply := p.set(conn, key, value); reply != "STORED" {
			t.Fatal(reply)
		}
	}
	var most int
	request := "get " + strings.Join(keys(100), " ") + "\r\n"
	for range 60 {
		slow, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.proxy.Memcached)
		must(t, err)
		t.Cleanup(func() { _ = slow.Close() })
		must(t, slow.(*net.TCPConn).SetReadBuffer(4096))
		_, err = slow.Write([]byte(request))
		must(t, err)
		most = max(most, p.residentMiB(p.pid()))
	}
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(50 * time.Millisecond) { // no event shows the maximum
		most = max(most, p.residentMiB(p.pid()))
	}
	if limit := 24 + 40*p.proxy.Threads; most > limit || most < 30 {
		t.Errorf("memcached had %d MiB, and the limit would be %d", most, limit)
	}
	if reply := p.set(conn, "another", "x"); reply != "STORED" {
		t.Errorf("another client gets %q", reply)
	}
	if p.ready() != 200 || p.live() != 200 {
		t.Error("the proxy is not well")
	}
}

// A get of very many keys may close its connection or return errors, but must not end the proxy.
func TestGetsOfManyKeys(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conn := p.client()
	for _, size := range []int{1000, 10_000, 100_000, 400_000} {
		values, reply, err := conn.Get(t.Context(), slices.Repeat([]string{"absent"}, size)...)
		if answered := err == nil && reply == "END" && values == 0; answered != (size == 1000) {
			t.Errorf("a get of %d keys: %q, %v", size, reply, err)
		}
		_ = conn.Close() // memcached may have closed it already
		conn = p.client()
		if reply := p.set(conn, "another", "x"); reply != "STORED" {
			t.Errorf("after a get of %d keys, another client gets %q", size, reply)
		}
	}
	if has, limit := p.residentMiB(p.pid()), 24+40*p.proxy.Threads; has > limit {
		t.Errorf("memcached has %d MiB, and the limit would be %d", has, limit)
	}
	if p.ready() != 200 || p.live() != 200 {
		t.Error("the proxy is not well")
	}
}

func (p *proxyPod) residentMiB(pid int) int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(p.t, err)
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib int
	_, err = fmt.Sscanf(strings.TrimSpace(rest), "%d", &kib)
	must(p.t, err)
	return kib / 1024
}
