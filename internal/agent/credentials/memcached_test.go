// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"net"
	"slices"
	"strings"
	"testing"
)

// Clients with OpenSSL and clients with Go prefer different key algorithms. After a single restart of memcached, all of them must get the
// current certificate.
func TestMemcachedRotatesToAKeyOfAnotherKind(t *testing.T) {
	t.Parallel()
	for name, test := range algorithmChanges(t) {
		p := newPod(t, test.first.tlsSecret(t), nil)
		if test.onlyTLS13 {
			p.args = append(p.args, "-o", "ssl_min_version=3")
			p.kill()
			p.start()
			p.await(name+": the verification", func(Status) bool { return p.settled() })
		}
		p.rotate(test.second.tlsSecret(t), nil)
		p.await(name+": the report", func(s Status) bool {
			return s.Served != nil && s.Served.Serial == test.served && s.RestartRequired[ReasonCertificateRemoved]
		})
		if !test.onlyTLS13 {
			p.mustOffer(test.first, test.second)
		}
		p.kill()
		p.start()
		p.await(name+": the end of the report", func(s Status) bool {
			return p.settled() && s.Served.Serial == serial(test.second.certificate) && !s.RestartRequired[ReasonCertificateRemoved]
		})
		if !test.onlyTLS13 {
			p.mustOffer(test.second)
		}
	}
}

// At each step of a reload of a real memcached, a panic kills the agent. The next agent must complete the reload.
func TestAnAgentOfAMemcachedIsKilled(t *testing.T) {
	t.Parallel()
	first, second := issue(t, 0xa1, nil), issue(t, 0xb2, nil)
	oldUsers, freshUsers := usersSecret("bob", "1"), usersSecret("bob", "2")
	p := newPod(t, first.tlsSecret(t), oldUsers)
	before, _, err := p.connect(nil)
	if err == nil {
		err = LogIn(t.Context(), before, []User{{"bob", "1"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	steps := []string{"found", "swapped", "asked", "refreshed", "signaled", "shown", "verified"}
	for i, step := range steps {
		p.killAgent()
		certificate, users := second, freshUsers
		if i%2 == 1 {
			certificate, users = first, oldUsers
		}
		p.tls.set(t, certificate.tlsSecret(t))
		p.users.set(t, users)
		p.mustDieAt(step)
		p.runAgent()
		p.await(step, func(s Status) bool {
			return s.Succeeded && s.Served != nil && s.Served.Serial == serial(certificate.certificate) && p.settled()
		})
		p.mustServe(certificate, nil)
		if _, err := p.login("bob", string(users["bob"])); err != nil {
			t.Errorf("%s: %v", step, err)
		}
		mustLive(t, before)
	}
}

// At its connection limit, memcached refuses the agent's verification. Once connections are free, the agent must verify memcached.
func TestMemcachedIsAtItsConnectionLimit(t *testing.T) {
	t.Parallel()
	first, second := issue(t, 0xa1, nil), issue(t, 0xb2, nil)
	p := newPod(t, first.tlsSecret(t), nil)
	var open []net.Conn
	for range 120 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.plaintext)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	p.tls.set(t, second.tlsSecret(t))
	p.await("the report", func(s Status) bool { return !s.Succeeded })
	if !strings.Contains(p.log.String(), "memcached is at its connection limit") {
		t.Errorf("the log:\n%s", p.log.String())
	}
	for _, conn := range slices.Backward(open) {
		_ = conn.Close()
	}
	p.await("the verification", func(s Status) bool { return s.Succeeded && s.Served.Serial == "b2" })
}
