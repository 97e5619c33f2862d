// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

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
