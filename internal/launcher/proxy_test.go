// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcache"
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
		owner := memcache.Ketama(p.names(count))
		var nodes []*memcache.Conn
		for i := range count {
			nodes = append(nodes, p.direct(i))
		}
		for i, key := range keys(700) {
			writer, reader := nodes[owner(key)], conn
			if i%2 == 0 {
				writer, reader = reader, writer
			}
			value := fmt.Sprintf("%d of %d", i, count)
			if reply := p.set(writer, key, value); reply != "STORED" {
				t.Fatalf("%d nodes: %s", count, reply)
			}
			if got := p.read(reader, key); got != value {
				t.Fatalf("%d nodes: the value of %s is %q, not %q", count, key, got, value)
			}
		}
	}
}

func TestNodeAway(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(3)
	conn, owner := p.client(), memcache.Ketama(p.names(3))
	p.storeAll(conn)
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
		"v q k": "", "v Oabc q": "", "v Oabc k": "EN Oabc k" + key + "\r\n", "N100 v": "EN\r\n", "N100 v q": "",
	} {
		if got := talk.say("mg " + key + " " + command); got != want+"MN\r\n" {
			t.Errorf("mg %s: %q", command, got)
		}
	}
	if got, here := talk.say("mg key-of-nobody v Z"), owner("key-of-nobody") != 1; here && !strings.HasPrefix(got, "CLIENT_ERROR") {
		t.Errorf("a wrong flag: %q", got)
	}
	if got := talk.say("get " + key); got != "END\r\nMN\r\n" {
		t.Errorf("mg with N has left %q", got)
	}
	p.startNode(1)
	back := time.Now()
	p.untilStored(conn)
	if took := time.Since(back); took > 5*time.Second { // about a second on an idle machine
		t.Errorf("it took %s", took)
	}
}

func TestNodeHangs(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(3)
	conn, owner := p.client(), memcache.Ketama(p.names(3))
	p.storeAll(conn)
	must(t, p.nodes[1].Process.Signal(syscall.SIGSTOP))
	var waited time.Duration
	for range 3 {
		for _, key := range keys(300) {
			began := time.Now()
			got := p.read(conn, key)
			if took := time.Since(began); took > 200*time.Millisecond {
				waited += took
			}
			if owner(key) != 1 && got != key {
				t.Errorf("%s is %q", key, got)
			}
		}
	}
	if waited > 3*time.Second { // about a second on an idle machine
		t.Errorf("the clients waited for %s", waited)
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
	conn := p.client()
	if reply := p.set(conn, "key", "value"); reply != failure || p.read(conn, "key") != "" {
		t.Errorf("set: %q", reply)
	}
	p.startNode(0)
	p.leads(p.lead(1))
	if reply := p.set(conn, "key", "value"); reply != "STORED" || p.read(conn, "key") != "value" {
		t.Errorf("set: %q", reply)
	}
}

// An announced number of nodes takes effect at its time, and clients do not notice.
func TestAnnouncedCount(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(3)
	p.startNode(3)
	conn, pid := p.client(), p.pid()
	from := time.Now().Add(8 * time.Second).Truncate(time.Second).UTC()
	text := protocol.Routes{Pool: protocol.Pool{Pattern: p.pattern, Count: 3, Next: &protocol.NextCount{Count: 4, From: from}}}.String()
	p.route(text)
	before := p.leads(text)
	if before.Count != 3 || time.Now().After(from) {
		t.Fatalf("the status is %+v", before)
	}
	p.agrees(conn, 3)
	if !time.Now().Before(from) {
		t.Log("this machine is too slow to see the former count")
	}
	after := p.proxyStatus("the new count holds", func(s protocol.ProxyStatus) bool { return s.Count == 4 && !s.Reloading })
	if since := time.Since(from).Seconds(); since < 0 || after.Seconds > since+0.1 || after.Routes != text {
		t.Errorf("%.1f s after its time, the status is %+v", since, after)
	}
	p.agrees(conn, 4)
	// The ConfigMap now names the announced number as the current one.
	if p.leads(p.lead(4)).Count != 4 || p.pid() != pid || strings.Count(p.logged(), "leading to 4 nodes") != 1 {
		t.Errorf("the launcher logged:\n%s", p.logged())
	}
	// A container that starts later uses the announced number at once.
	p.route(text)
	p.end()
	p.startProxy()
	if status := p.leads(text); status.Count != 4 {
		t.Errorf("the status is %+v", status)
	}
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
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
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
			t.Errorf("exit code %d, and the launcher logged:\n%s", code, p.logged())
		}
	}
}

// If memcached refuses a reload, the former routes stay in effect.
func TestFailedReload(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(2)
	conn, lua := p.client(), strings.Replace(string(program), `route_direct{ child = "main" }`, `route_direct{ child = "nobody" }`, 1)
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

func TestEndOfProxy(t *testing.T) {
	t.Parallel()
	p := newProxyPod(t)
	p.beginWith(1)
	must(t, syscall.Kill(p.pid(), syscall.SIGKILL))
	if code := p.exit(); code != 137 {
		t.Errorf("exit code %d", code)
	}
	p.startProxy()
	p.leads(p.pattern + " 1\n")
	p.signals <- syscall.SIGHUP // it does not end the container
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestParseProxy(t *testing.T) {
	const routes = "read_buf_mem_limit=35,proxy_config=routelib:/run/launcher/copies.lua,proxy_arg=/run/launcher/routes.lua"
	const pair = ",ssl_chain_cert=/run/memcached/current/tls.crt,ssl_key=/run/memcached/current/tls.key"
	for flags, want := range map[string]string{
		"":                      "-c 775 -t 2 -o " + routes,
		"--agent":               "-c 779 -t 2 -o " + routes,
		"--agent --tls=1.2":     "-c 782 -t 2 -Z -l notls:127.0.0.1:11211,*:11212 -o " + routes + pair + ",ssl_min_version=2",
		"--tls=1.3 --plaintext": "-c 778 -t 2 -Z -l notls:*:11211,*:11212 -o " + routes + pair + ",ssl_min_version=3",
		"--agent --tls=1.3 --client-ca": "-c 782 -t 2 -Z -l notls:127.0.0.1:11211,*:11212 -o " + routes + pair +
			",ssl_min_version=3,ssl_ca_cert=/run/memcached/current/ca.crt,ssl_verify_mode=2",
	} {
		o, err := ParseProxy(append([]string{"--threads=2", "--max-connections=500"}, strings.Fields(flags)...), io.Discard)
		must(t, err)
		if got := strings.Join(o.arguments(64).Arguments, " "); got != "-p 11211 -U 0 -W -m 8 "+want {
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
