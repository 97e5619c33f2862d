// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/traffic"
)

// proxyPod is the container of a proxy, with the nodes behind it. The proxy and the nodes are real memcacheds. The nodes' names are IP
// addresses, unless a nameserver resolves them.
type proxyPod struct {
	pod     // for signals, the log and waiting
	proxy   ProxyOptions
	pattern string
	// network is the beginning of the nodes' addresses, such as "127.64.1.".
	network string
	nodes   map[int]*exec.Cmd
	self    string
}

func newProxyPod(t *testing.T) *proxyPod {
	t.Helper()
	dir := t.TempDir()
	self, err := user.Current()
	must(t, err)
	network := newNetwork()
	p := &proxyPod{
		pod: pod{t: t}, nodes: map[int]*exec.Cmd{}, self: self.Username, network: network, pattern: network + "1%d",
		proxy: ProxyOptions{
			Routes: filepath.Join(dir, "routes"), State: filepath.Join(dir, "state"), Listen: network + "1:9151", Memcached: network + "1:11211",
			Program: filepath.Join(dir, "memcached"), Threads: 2, MaxConnections: 100, dns: resolver{config: filepath.Join(dir, "resolv.conf")},
			poll: 20 * time.Millisecond, settle: 10 * time.Millisecond, resend: 2 * time.Second, confirm: 500 * time.Millisecond,
			starvation: time.Hour, others: time.Hour, dial: time.Hour,
		},
	}
	p.options.Listen, p.options.Memcached = p.proxy.Listen, p.proxy.Memcached
	must(t, os.Mkdir(p.proxy.Routes, 0o700))
	must(t, os.Mkdir(p.proxy.State, 0o700))
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *' -l '*) ;; *) set -- \"$@\" -l %s ;; esac\nexec %s -u %s \"$@\"\n",
		p.proxy.Memcached, repository.Path("bin", "memcached"), p.self)
	must(t, os.WriteFile(p.proxy.Program, []byte(script), 0o700))
	return p
}

func (p *proxyPod) node(number int) string { return fmt.Sprintf("%s1%d", p.network, number) }

func (p *proxyPod) names(count int) []string {
	return protocol.Routes{Pool: protocol.Pool{Pattern: p.pattern}}.Names(count)
}

func (p *proxyPod) startNode(number int) {
	p.t.Helper()
	command := exec.Command(repository.Path("bin", "memcached"), "-u", p.self, "-U", "0", "-m", "64", "-l", p.node(number)+":11211")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the node ends with the thread
	must(p.t, command.Start())
	p.nodes[number] = command
	p.t.Cleanup(func() { _ = command.Process.Kill() })
	p.await("the node answers", func() error { return answers(p.t.Context(), p.node(number)+":11211") })
}

func (p *proxyPod) kill(number int) {
	p.t.Helper()
	must(p.t, p.nodes[number].Process.Kill())
	_ = p.nodes[number].Wait() // it was killed
}

func (p *proxyPod) route(text string) {
	p.t.Helper()
	must(p.t, replaceFile(filepath.Join(p.proxy.Routes, protocol.RoutesKey), text))
}

func (p *proxyPod) lead(count int) string {
	text := fmt.Sprintf("%s %d\n", p.pattern, count)
	p.route(text)
	return text
}

func (p *proxyPod) startProxy() {
	p.t.Helper()
	p.run(func(signals <-chan os.Signal) (int, error) {
		return RunProxy(context.Background(), p.proxy, signals, log.New(&p.pod, "", 0))
	})
}

func (p *proxyPod) beginWith(count int) {
	p.t.Helper()
	for i := range count {
		p.startNode(i)
	}
	text := p.lead(count)
	p.startProxy()
	p.leads(text)
	if count > 0 {
		p.untilReady(http.StatusOK)
	}
}

// misses waits until the status says this of the nodes.
func (p *proxyPod) misses(text string) {
	p.t.Helper()
	p.proxyStatus("it misses "+text, func(s protocol.ProxyStatus) bool { return strings.HasPrefix(s.Missed, text) == (text != "") })
}

func (p *proxyPod) leads(text string) protocol.ProxyStatus {
	p.t.Helper()
	return p.proxyStatus("the routes are in effect", func(s protocol.ProxyStatus) bool { return s.Routes == text && !s.Reloading })
}

func (p *proxyPod) proxyStatus(what string, fulfilled func(protocol.ProxyStatus) bool) protocol.ProxyStatus {
	p.t.Helper()
	return *p.status(what, func(s protocol.Status) bool { return s.Proxy != nil && fulfilled(*s.Proxy) }).Proxy
}

func (p *proxyPod) direct(number int) *memcache.Conn {
	p.t.Helper()
	conn, err := memcache.Dial(p.t.Context(), p.node(number)+":11211")
	must(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (p *proxyPod) set(conn *memcache.Conn, key, value string) string {
	p.t.Helper()
	reply, err := conn.Command(p.t.Context(), fmt.Sprintf("set %s 0 0 %d\r\n%s", key, len(value), value))
	must(p.t, err)
	return reply
}

// stores stores these keys again and again until that succeeds: the proxy has then found their nodes.
func (p *proxyPod) stores(conn *memcache.Conn, keys ...string) {
	p.t.Helper()
	p.await("the keys are stored", func() error {
		for _, key := range keys {
			if reply := p.set(conn, key, key); reply != "STORED" {
				return errors.New(reply)
			}
		}
		return nil
	})
}

func (p *proxyPod) read(conn *memcache.Conn, key string) string {
	p.t.Helper()
	value, err := traffic.Read(p.t.Context(), conn, key)
	must(p.t, err)
	if value == nil {
		return ""
	}
	return string(value.Bytes)
}

// agrees checks that the proxy stores keys in the nodes to which libmemcached's ring of count nodes assigns them, and finds there what
// other clients store.
func (p *proxyPod) agrees(conn *memcache.Conn, count int) {
	p.t.Helper()
	owner, nodes := traffic.Ketama(p.names(count)), make([]*memcache.Conn, count)
	for i := range nodes {
		nodes[i] = p.direct(i)
	}
	for _, key := range keys(100) {
		value := fmt.Sprintf("%s with %d", key, count)
		if reply := p.set(conn, key, value); reply != "STORED" || p.read(nodes[owner(key)], key) != value {
			p.t.Fatalf("%d nodes: set %s: %s", count, key, reply)
		}
		if reply := p.set(nodes[owner(key)], key, "direct"); reply != "STORED" || p.read(conn, key) != "direct" {
			p.t.Fatalf("%d nodes: set %s directly: %s", count, key, reply)
		}
	}
}

func keys(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	return keys
}
