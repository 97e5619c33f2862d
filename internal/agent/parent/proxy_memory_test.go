// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/test/traffic"
)

// Even if clients request much and read nothing, memcached must not take more than 24 MiB plus 40 MiB for each thread.
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
		p.slow(request)
		most = max(most, p.residentMiB(p.pid()))
	}
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(50 * time.Millisecond) { // no event shows the maximum
		most = max(most, p.residentMiB(p.pid()))
	}
	if limit := 24 + 40*p.proxy.Threads; most > limit || most < 30 {
		t.Errorf("memcached had %d MiB, and the limit would be %d", most, limit)
	}
	if err := answers(t.Context(), p.proxy.Memcached); err != nil {
		t.Errorf("the proxy is not well: %v", err)
	}
}

// A client that asks for much and reads nothing can use up the buffers of a thread. The parent restarts memcached.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.proxy.starvation = 500 * time.Millisecond
	p.beginWith(2)
	if reply := p.set(p.client(), "key", strings.Repeat("x", 1_000_000)); reply != "STORED" {
		t.Fatal(reply)
	}
	before := p.pid()
	for range 3 { // one is enough, unless the kernel takes a whole value off memcached
		p.slow("get" + strings.Repeat(" key", 98) + "\r\n")
	}
	p.proxyStatus("memcached was restarted", func(s protocol.ProxyStatus) bool { return s.BufferRestarts == 1 && !s.Reloading })
	if p.pid() == before {
		t.Error("the same memcached runs")
	}
	p.untilStored(p.client())
	if full, err := p.proxy.starves(t.Context()); p.ready() != 200 || full || err != nil {
		t.Errorf("the proxy is not well: %v", err)
	}
}

// A get of very many keys may close its connection or return errors, but must not end the proxy.
func TestGetsOfManyKeys(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conn := p.client()
	for _, size := range []int{1000, 10_000, 100_000, 400_000} {
		values, reply, err := traffic.Get(t.Context(), conn, slices.Repeat([]string{"absent"}, size)...)
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
	if err := answers(t.Context(), p.proxy.Memcached); err != nil {
		t.Errorf("the proxy is not well: %v", err)
	}
}

// slow sends a request, and does not read the answer. With short segments, as on a real network, the kernel takes little of the answer
// off memcached.
func (p *proxyPod) slow(request string) {
	p.t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var failure error
		err := raw.Control(func(fd uintptr) {
			failure = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 500))
		})
		return errors.Join(err, failure)
	}}
	conn, err := dialer.DialContext(p.t.Context(), "tcp", p.proxy.Memcached)
	must(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte(request))
	must(p.t, err)
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
