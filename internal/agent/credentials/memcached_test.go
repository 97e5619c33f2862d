// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"crypto/x509"
	"net"
	"slices"
	"strings"
	"testing"
)

func TestMemcachedRotatesItsCertificate(t *testing.T) {
	t.Parallel()
	ca := issue(t, 1, nil, authority)
	first, second := issue(t, 0xa1, ca), issue(t, 0xb2, ca)
	p := newPod(t, first.tlsSecret(t), nil)
	before, shown, err := p.connect(nil)
	if err != nil || !shown.Equal(first.certificate) {
		t.Fatalf("the first certificate: %v", err)
	}
	p.rotate(second.tlsSecret(t), nil)
	p.mustServe(second, nil)
	mustLive(t, before)
	p.await("the report", func(s Status) bool { return s.Served != nil && s.Served.Serial == "b2" })

	for name, secret := range map[string]map[string][]byte{
		"another key": with(first.tlsSecret(t), "tls.key", string(second.keyPEM(t))), "garbage": with(first.tlsSecret(t), "tls.crt", "hello"),
		"expired": issue(t, 3, ca, until(beginning)).tlsSecret(t), "nothing": {}, "no key": without(first.tlsSecret(t), "tls.key"),
	} {
		p.tls.set(t, secret)
		p.await(name, func(s Status) bool { return !s.Succeeded })
		p.mustServe(second, nil)
		mustLive(t, before)
		p.tls.set(t, second.tlsSecret(t))
		p.await("the repair", func(s Status) bool { return s.Succeeded })
	}
	p.tls.set(t, map[string][]byte{})
	p.await("the deletion", func(s Status) bool { return !s.Succeeded })
	p.kill()
	p.start() // with the last valid content
	p.await("the verification", func(Status) bool { return p.settled() })
	p.mustServe(second, nil)
	p.mustKeepSecrets()
}

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

func TestMemcachedTrustsCAs(t *testing.T) {
	t.Parallel()
	old, fresh := issue(t, 1, nil, authority), issue(t, 2, nil, authority)
	server := issue(t, 0xa1, old)
	forClients := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }
	ofOld, ofFresh := issue(t, 0xc1, old, forClients), issue(t, 0xc2, fresh, forClients)
	p := newPod(t, server.tlsSecret(t, old), nil)
	p.mustServe(server, ofOld)
	for name, refused := range map[string]*issued{"no certificate": nil, "of another CA": ofFresh, "expired": issue(t, 3, old, forClients, until(beginning))} {
		if _, _, err := p.connect(refused); err == nil {
			t.Errorf("a client is admitted: %s", name)
		}
	}
	p.rotate(server.tlsSecret(t, old, fresh), nil)
	p.mustServe(server, ofOld)
	p.mustServe(server, ofFresh)
	p.rotate(server.tlsSecret(t, fresh), nil)
	p.mustServe(server, ofOld) // memcached still trusts the old CA
	p.await("the report", func(s Status) bool { return s.RestartRequired[ReasonCARemoved] })
	p.kill()
	p.start()
	p.await("the end of the report", func(s Status) bool { return !s.RestartRequired[ReasonCARemoved] && p.settled() })
	p.mustServe(server, ofFresh)
	if _, _, err := p.connect(ofOld); err == nil {
		t.Error("a client of the removed CA is admitted after the restart")
	}
}

func TestMemcachedKnowsItsUsers(t *testing.T) {
	t.Parallel()
	pair := issue(t, 0xa1, nil)
	p := newPod(t, pair.tlsSecret(t), usersSecret("bob", "hunter2", "eve", "pass:word with spaces"))
	bob, err := p.login("bob", "hunter2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.login("eve", "pass:word with spaces"); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("x", maxUserLine-len("carol:"))
	p.rotate(nil, usersSecret("bob", "hunter2", "carol", long, "eve", "swordfish"))
	for user, accepted := range map[User]bool{
		{"carol", long}: true, {"eve", "swordfish"}: true, {"eve", "pass:word with spaces"}: false, {"bob", "hunter2"}: true,
	} {
		if _, err := p.login(user.name, user.password); (err == nil) != accepted {
			t.Errorf("%s: %v", user, err)
		}
	}
	p.rotate(nil, usersSecret("a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "carol", long))
	if _, err := p.login("g", "7"); err != nil {
		t.Errorf("the eighth user: %v", err)
	}
	if _, err := p.login("bob", "hunter2"); err == nil {
		t.Error("a removed user can log in")
	}
	mustLive(t, bob)
	p.await("the report", func(s Status) bool { return s.RestartRequired[ReasonUserRemoved] })

	for name, secret := range map[string]map[string][]byte{
		"nine users":   usersSecret("a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "carol", long),
		"a long line":  usersSecret("carol", strings.Repeat("x", 300)),
		"CRLF":         usersSecret("carol", "swordfish\r\n"),
		"a blank line": usersSecret("carol", "swordfish\n\n"),
		"an empty one": usersSecret("carol", ""),
		"no users":     {},
	} {
		p.users.set(t, secret)
		p.await(name, func(s Status) bool { return !s.Succeeded })
		if _, err := p.login("carol", long); err != nil {
			t.Errorf("%s: carol: %v", name, err)
		}
		p.users.set(t, usersSecret("a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "carol", long))
		p.await("the repair", func(s Status) bool { return s.Succeeded })
	}
	p.kill()
	p.start()
	p.await("the end of the report", func(s Status) bool { return !s.RestartRequired[ReasonUserRemoved] && p.settled() })
	p.mustKeepSecrets("hunter2", "swordfish", "pass:word", long)
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
