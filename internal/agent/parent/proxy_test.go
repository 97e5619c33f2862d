// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcache"
	"github.com/example/memcached-operator/test/traffic"
)

const failure = "SERVER_ERROR backend failure"

// Clients of the nodes and clients of the proxy must find each other's keys. The proxy keeps its clients when the routes change.
func TestDirectClientsAndProxyAgree(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(7)
	conn := p.client()
	for count := 1; count <= 7; count++ {
		p.leads(p.lead(count))
		p.agrees(conn, count)
	}
}

func TestNodeAway(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(3)
	conn, owner := p.client(), traffic.Ketama(p.names(3))
	p.stores(conn, keys(300)...)
	p.kill(1)
	p.await("the node counts as away", func() error {
		if reply := p.set(conn, "key-of-nobody", "x"); owner("key-of-nobody") == 1 && reply != failure {
			return errors.New(reply)
		}
		return nil
	})
	for _, key := range keys(300) {
		want, reply := key, "STORED"
		if owner(key) == 1 {
			want, reply = "", failure
		}
		if got := p.read(conn, key); got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
		if got := p.set(conn, key, key); got != reply {
			t.Errorf("set %s: %q, not %q", key, got, reply)
		}
		for _, command := range []string{"mg " + key + " v", "gets " + key} {
			if got, err := conn.Command(t.Context(), command); owner(key) == 1 && (err != nil || got != "EN" && got != "END") {
				t.Errorf("%s: %q, %v", command, got, err)
			} else if owner(key) != 1 {
				conn = p.client() // the rest of the reply is not read
			}
		}
	}
	away := slices.IndexFunc(keys(300), func(key string) bool { return owner(key) == 1 })
	talk, key := newTalk(t, p.proxy.Memcached), keys(300)[away]
	for command, want := range map[string]string{
		"mg K v q k": "", "mg K v Oabc q": "", "mg K v Oabc k": "EN Oabc kK\r\n", "mg K N100 v": "EN\r\n", "mg K N100 v q": "",
		"touch K 100 noreply": "",
	} {
		if got := talk.say(strings.ReplaceAll(command, "K", key)); got != strings.ReplaceAll(want, "kK", "k"+key)+"MN\r\n" {
			t.Errorf("%s: %q", command, got)
		}
	}
	if got, here := talk.say("mg key-of-nobody v Z"), owner("key-of-nobody") != 1; here && !strings.HasPrefix(got, "CLIENT_ERROR") {
		t.Errorf("a wrong flag: %q", got)
	}
	if got := talk.say("get " + key); got != "END\r\nMN\r\n" {
		t.Errorf("mg with N has left %q", got)
	}
	p.startNode(1)
	p.stores(conn, keys(300)...)
}

func TestNodeHangs(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(3)
	conn, owner := p.client(), traffic.Ketama(p.names(3))
	p.stores(conn, keys(300)...)
	must(t, p.nodes[1].Process.Signal(syscall.SIGSTOP))
	// If each request to the hung node waited half a second, these would take 8 minutes.
	patient, cancel := context.WithTimeout(t.Context(), patienceOfTests)
	defer cancel()
	for range 10 {
		for _, key := range keys(300) {
			value, err := traffic.Read(patient, conn, key)
			must(t, err)
			if owner(key) != 1 && (value == nil || string(value.Bytes) != key) {
				t.Errorf("%s is %+v", key, value)
			}
		}
	}
	must(t, p.nodes[1].Process.Signal(syscall.SIGCONT))
	p.await("the node is found", func() error {
		for _, key := range keys(300) {
			if p.read(conn, key) != key {
				return errors.New(key)
			}
		}
		return nil
	})
}

func TestNoNodes(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(0)
	p.misses("nodes: its pools have none")
	if code := p.ready(); code != http.StatusServiceUnavailable {
		t.Errorf("without nodes, the probe got %d", code)
	}
	conn := p.client()
	if reply := p.set(conn, "key", "value"); reply != failure || p.read(conn, "key") != "" {
		t.Errorf("set: %q", reply)
	}
	p.startNode(0)
	p.leads(p.lead(1))
	p.untilReady(http.StatusOK)
	if reply := p.set(conn, "key", "value"); reply != "STORED" || p.read(conn, "key") != "value" {
		t.Errorf("set: %q", reply)
	}
}

func TestEndOfProxy(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(1)
	must(t, syscall.Kill(p.pid(), syscall.SIGKILL))
	p.exits(137)
	p.startProxy()
	p.leads(p.pattern + " 1\n")
	p.signals <- syscall.SIGHUP // it does not end the container
	p.signals <- syscall.SIGTERM
	p.exits(0)
}

func TestParseProxy(t *testing.T) {
	const routes = "read_buf_mem_limit=35,proxy_config=routelib:/run/parent/copies.lua,proxy_arg=/run/parent/routes.lua"
	const pair = ",ssl_chain_cert=/run/memcached/current/tls.crt,ssl_key=/run/memcached/current/tls.key"
	for flags, want := range map[string]string{
		"":                      "-c 779 -t 2 -o " + routes,
		"--tls=1.2":             "-c 782 -t 2 -Z -l notls:127.0.0.1:11211,*:11212 -o " + routes + pair + ",ssl_min_version=2",
		"--tls=1.3 --plaintext": "-c 782 -t 2 -Z -l notls:*:11211,*:11212 -o " + routes + pair + ",ssl_min_version=3",
		"--tls=1.3 --client-ca": "-c 782 -t 2 -Z -l notls:127.0.0.1:11211,*:11212 -o " + routes + pair +
			",ssl_min_version=3,ssl_ca_cert=/run/memcached/current/ca.crt,ssl_verify_mode=2",
	} {
		o, err := ParseProxy(append([]string{"--threads=2", "--max-connections=500"}, strings.Fields(flags)...), io.Discard)
		must(t, err)
		if got := o.arguments(64).Arguments; got != "-p 11211 -U 0 -W -X -m 8 "+want {
			t.Errorf("%s: the arguments are %s", flags, got)
		}
	}
	for _, args := range []string{
		"--threads=0", "--threads=65", "--max-connections=0", "--max-connections=65537", "more", "--nonsense", "--tls=1.1", "--client-ca", "--plaintext",
	} {
		if _, err := ParseProxy([]string{args}, io.Discard); !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestProxyWithoutConnections(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conns := p.occupy()
	node, other := p.direct(0), p.direct(1)
	// The parent cannot connect to memcached any more, but its signal still makes memcached read the routes.
	p.lead(1)
	p.proxyStatus("the routes are being read", func(s protocol.ProxyStatus) bool { return s.Count == 1 })
	p.await("they are", func() error { return p.allAt(conns[0], node) }) // until then, some keys belong to the other node
	p.lead(2)
	p.await("the next ones are", func() error {
		for _, key := range keys(100) {
			if reply := p.set(conns[0], key, "y"); reply == "STORED" && p.read(other, key) == "y" {
				return nil
			}
		}
		return errors.New("the other node has no key")
	})
	if p.ready() != http.StatusOK {
		t.Error("the probe does not know that clients may have all connections")
	}
	for _, conn := range conns[1:] {
		_ = conn.Close()
	}
	p.leads(p.pattern + " 2\n")
	p.agrees(conns[0], 2)
}

// memcached reads new routes even if clients use all connections from the start.
func TestProxyStartsWithoutConnections(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	// With these times, clients connect before the parent asks memcached for the first time.
	p.proxy.settle, p.proxy.poll = time.Second, 2*time.Second
	for i := range 2 {
		p.startNode(i)
	}
	p.lead(2)
	p.startProxy()
	p.await("memcached answers", func() error { return answers(p.t.Context(), p.proxy.Memcached) })
	conns, node := p.occupy(), p.direct(0)
	p.lead(1)
	p.await("the next routes are read", func() error { return p.allAt(conns[0], node) })
}

// allAt stores keys through the proxy. It returns an error unless the node has all of them.
func (p *proxyPod) allAt(client, node *memcache.Conn) error {
	p.t.Helper()
	for _, key := range keys(100) {
		if reply := p.set(client, key, "x"); reply != "STORED" || p.read(node, key) != "x" {
			return errors.New(reply)
		}
	}
	return nil
}

// occupy connects until the proxy accepts no more clients.
func (p *proxyPod) occupy() (conns []*memcache.Conn) {
	p.t.Helper()
	for len(conns) < 1000 {
		conn, err := memcache.Dial(p.t.Context(), p.proxy.Memcached)
		must(p.t, err)
		p.t.Cleanup(func() { _ = conn.Close() })
		reply, err := conn.Command(p.t.Context(), "mn")
		if err != nil || strings.HasPrefix(reply, "ERROR") {
			break
		}
		conns = append(conns, conn)
	}
	if len(conns) < p.proxy.MaxConnections || len(conns) == 1000 {
		p.t.Fatalf("%d clients", len(conns))
	}
	return conns
}

// While clients use all connections, the proxy must still reach a node that returns with another address.
func TestNodeReplacedWithoutConnections(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	dns := p.beginNamed(2)
	conns, pid, key := p.occupy(), p.pid(), missing(traffic.Ketama(p.names(2)), 1)
	p.kill(1)
	p.occupyMore()
	dns.change(func() { delete(dns.records, "node-1.shop.svc.cluster.test.") })
	p.logs("node-1.shop.svc is away")
	p.occupyMore()
	p.startNode(7)
	p.at(dns, 1, 7)
	p.stores(conns[0], key)
	if p.pid() != pid {
		t.Error("memcached was replaced")
	}
}

// occupyMore connects again and again, to take connections that have become free.
func (p *proxyPod) occupyMore() {
	p.t.Helper()
	for range 50 {
		conn, err := memcache.Dial(p.t.Context(), p.proxy.Memcached)
		must(p.t, err)
		p.t.Cleanup(func() { _ = conn.Close() })
	}
}

// TestBoundFiles tests the limits that container runtimes usually set, and a proxy that needs more files than mostFiles.
func TestBoundFiles(t *testing.T) {
	for _, row := range []struct{ limit, atLeast, want uint64 }{
		{limit: 1 << 20, atLeast: 1100, want: mostFiles},
		{limit: 1073741816, atLeast: 1100, want: mostFiles},
		{limit: 20000, atLeast: 1100, want: 20000},
		{limit: 1 << 20, atLeast: 100000, want: 100000},
	} {
		got := boundFiles(unix.Rlimit{Cur: row.limit, Max: row.limit}, row.atLeast)
		if want := (unix.Rlimit{Cur: row.want, Max: row.want}); got != want {
			t.Errorf("%+v: %+v", row, got)
		}
	}
}

// An announced number of nodes takes effect at its time, and clients do not notice.
func TestAnnouncedCount(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(3)
	p.startNode(3)
	conn, pid := p.client(), p.pid()
	from := time.Now().Add(15 * time.Second).Truncate(time.Second).UTC()
	text := protocol.Routes{Pool: protocol.Pool{Pattern: p.pattern, Count: 3, Next: &protocol.NextCount{Count: 4, From: from}}}.String()
	p.route(text)
	before := p.leads(text)
	if before.Count != 3 || time.Now().After(from) {
		t.Fatalf("the status is %+v", before)
	}
	p.agrees(conn, 3)
	after := p.proxyStatus("the new count holds", func(s protocol.ProxyStatus) bool { return s.Count == 4 && !s.Reloading })
	if since := time.Since(from).Seconds(); since < 0 || after.Seconds > since+0.1 || after.Routes != text {
		t.Errorf("%.1f s after its time, the status is %+v", since, after)
	}
	p.agrees(conn, 4)
	// The ConfigMap now names the announced number as the current one.
	if p.leads(p.lead(4)).Count != 4 || p.pid() != pid || strings.Count(p.logged(), "leading to 4 nodes") != 1 {
		t.Errorf("the parent logged:\n%s", p.logged())
	}
	// A container that starts later uses the announced number at once.
	p.route(text)
	p.end()
	p.startProxy()
	if status := p.leads(text); status.Count != 4 {
		t.Errorf("the status is %+v", status)
	}
}

// Whoever may write the ConfigMap must not send a proxy's clients to another namespace.
func TestRoutesToAnotherNamespace(t *testing.T) {
	routes, err := protocol.ParseRoutes("a-%d.a.shop.svc 2\nb-%d.b.elsewhere.svc\n")
	must(t, err)
	o := ProxyOptions{dns: resolver{config: filepath.Join(t.TempDir(), "resolv.conf")}}
	must(t, os.WriteFile(o.dns.config, []byte("search shop.svc.cluster.test svc.cluster.test cluster.test\n"), 0o600))
	if err := o.checkNamespace(routes); !errors.Is(err, protocol.ErrNotOurs) {
		t.Errorf("with a pool elsewhere: %v", err)
	}
	routes.Copies = []string{"b-%d.b.shop.svc"}
	must(t, o.checkNamespace(routes))
}

func TestRefusedRoutes(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conn, pid, good := p.client(), p.pid(), p.pattern+" 2\n"
	for text, reason := range map[string]string{
		"": "not what the operator writes", p.pattern + " 2000\n": "at most 1000", `s%d".."x 2` + "\n": "must be the name of a host",
		p.pattern + " 2 next 3 2026-99-24T10:00:00Z\n": "time", strings.Repeat("x", 5000): "...",
	} {
		p.route(text)
		status := p.proxyStatus("it is refused", func(s protocol.ProxyStatus) bool {
			return s.Refused != nil && (text == "" || strings.HasPrefix(text, strings.TrimSuffix(s.Refused.Routes, "...")) && s.Refused.Routes != "")
		})
		if !strings.Contains(status.Refused.Reason, reason) || status.Routes != good || status.Count != 2 || len(status.Refused.Reason) > 1000 {
			t.Errorf("%.40q: %+v, refused %+v", text, status, status.Refused)
		}
		p.route(good)
		p.proxyStatus("all is well", func(s protocol.ProxyStatus) bool { return s.Refused == nil })
	}
	p.agrees(conn, 2)
	if p.pid() != pid {
		t.Error("memcached was replaced")
	}
	// Another container does not use refused routes either.
	p.route("x")
	p.signals <- syscall.SIGTERM
	p.exits(0)
	p.startProxy()
	if status := p.leads(good); status.Refused == nil {
		t.Errorf("the status is %+v", status)
	}
	p.agrees(p.client(), 2)
}

func TestFirstStartNeedsRoutes(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{"": "no such file", "x": "not what the operator writes"} {
		p := newProxyPod(t)
		if text != "" {
			p.route(text)
		}
		p.startProxy()
		if code := p.exit(); code != 1 || !strings.Contains(p.logged(), reason) {
			t.Errorf("exit code %d, and the parent logged:\n%s", code, p.logged())
		}
	}
}

// If memcached refuses a reload, the former routes stay in effect.
func TestFailedReload(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conn, lua := p.client(), strings.Replace(string(program), `route_others{ child = "main" }`, `route_others{ child = "nobody" }`, 1)
	must(t, replaceFile(p.proxy.program(), lua))
	text := p.lead(1)
	status := p.proxyStatus("the failure is told", func(s protocol.ProxyStatus) bool { return s.Reloading && s.Refused != nil })
	if status.Refused.Reason != errUnread.Error() || status.Refused.Routes != text {
		t.Errorf("refused: %+v", status.Refused)
	}
	p.agrees(conn, 2)
	must(t, replaceFile(p.proxy.program(), string(program)))
	if status := p.leads(text); status.Refused != nil {
		t.Errorf("refused: %+v", status.Refused)
	}
	p.agrees(conn, 1)
}
