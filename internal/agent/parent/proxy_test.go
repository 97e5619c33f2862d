// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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
		owner := traffic.Ketama(p.names(count))
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
	conn, owner := p.client(), traffic.Ketama(p.names(3))
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
	conn, owner := p.client(), traffic.Ketama(p.names(3))
	p.storeAll(conn)
	must(t, p.nodes[1].Process.Signal(syscall.SIGSTOP))
	timeouts := 0
	for range 3 {
		for _, key := range keys(300) {
			began := time.Now()
			got := p.read(conn, key)
			if time.Since(began) > 400*time.Millisecond { // the read timeout is half a second
				timeouts++
			}
			if owner(key) != 1 && got != key {
				t.Errorf("%s is %q", key, got)
			}
		}
	}
	if timeouts > 4 { // two on an idle machine
		t.Errorf("%d of 900 requests waited for a timeout", timeouts)
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
