// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMemcachedStartsWithTheSecrets(t *testing.T) {
	ca := issue(t, 1, nil, authority)
	secret, users := issue(t, 0xa1, ca), usersSecret("bob", "secret", "alice", "pass:word with spaces")
	b := newTestbed(t, secret.tlsSecret(t, ca), users)
	if status := b.agent.Status(); status.Started {
		t.Error("memcached may start before there is anything to read")
	}
	b.run()
	b.mustHave(true, "a1")
	if !b.memcached.serves(secret, users) {
		t.Error("it does not serve them")
	}
	if status := b.agent.Status(); !status.Started || !status.Served.NotAfter.Equal(secret.certificate.NotAfter) {
		t.Errorf("the status is %+v", status)
	}
	for name, want := range map[string]string{"users": "alice:pass:word with spaces\nbob:secret\n", "tls.key": string(secret.keyPEM(t))} {
		if got, err := os.ReadFile(filepath.Join(b.config.Folder, "current", name)); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func TestRotation(t *testing.T) {
	old, fresh, other := issue(t, 1, nil, authority), issue(t, 2, nil, authority), issue(t, 3, nil, authority)
	first, second := issue(t, 0xa1, old), issue(t, 0xb2, old)
	for name, test := range map[string]struct {
		tls, users map[string][]byte
		serial     string
		restart    []string
	}{
		"a new pair":            {tls: second.tlsSecret(t, old), serial: "b2"},
		"another CA":            {tls: first.tlsSecret(t, old, fresh), serial: "a1"},
		"a CA replaced":         {tls: first.tlsSecret(t, fresh, other), serial: "a1", restart: []string{ReasonCARemoved}},
		"a user more":           {users: usersSecret("bob", "1", "eve", "2", "carol", "3"), serial: "a1"},
		"a user less":           {users: usersSecret("eve", "2"), serial: "a1", restart: []string{ReasonUserRemoved}},
		"another password":      {users: usersSecret("bob", "1", "eve", "4"), serial: "a1", restart: []string{ReasonUserRemoved}},
		"the first user leaves": {users: usersSecret("eve", "2", "zoe", "3"), serial: "a1", restart: []string{ReasonUserRemoved}},
		"everything": {
			tls: second.tlsSecret(t, fresh), users: usersSecret("zoe", "9"), serial: "b2", restart: []string{ReasonCARemoved, ReasonUserRemoved},
		},
	} {
		t.Run(name, func(t *testing.T) {
			users := usersSecret("bob", "1", "eve", "2")
			b := newTestbed(t, first.tlsSecret(t, old), users).run()
			b.memcached.signals = 0
			process, before := b.memcached.process, b.memcached.refreshAt
			served := first
			if test.tls != nil {
				b.tls.set(t, test.tls)
				if test.serial == "b2" {
					served = second
				}
			}
			if test.users != nil {
				users = test.users
				b.users.set(t, users)
			}
			b.settle()
			b.mustHave(true, test.serial, test.restart...)
			if !b.memcached.serves(served, users) || b.memcached.process != process || b.memcached.signals != 1 || b.memcached.refreshAt == before {
				t.Errorf("memcached serves them: %t; signals: %d", b.memcached.serves(served, users), b.memcached.signals)
			}
			if entries, err := os.ReadDir(b.config.Folder); err != nil || len(entries) > 3 { // the link, a slot, and perhaps the record
				t.Errorf("the folder has %v, %v", entries, err)
			}

			b.startAgent() // the new agent must know what memcached has read
			b.mustBegin()
			b.settle()
			b.mustHave(true, test.serial, test.restart...)
			b.memcached.start()
			b.settle()
			b.mustHave(true, test.serial)
		})
	}
}

func TestACertificateThatIsNotValidYetBecomesValid(t *testing.T) {
	good := issue(t, 0xa1, nil)
	b := newTestbed(t, good.tlsSecret(t), nil).run()
	b.tls.set(t, issue(t, 0xb2, nil, func(c *x509.Certificate) { c.NotBefore = beginning.Add(time.Minute) }).tlsSecret(t))
	b.settle()
	b.mustHave(false, "a1")
	b.now = beginning.Add(2 * time.Minute)
	b.settle()
	b.mustHave(true, "b2")
}

// memcached must start with a certificate that has expired since it was installed, and changes of the users must still take effect.
func TestACertificateExpiresWhileItIsServed(t *testing.T) {
	short, users := issue(t, 0xa1, nil, until(beginning.Add(time.Hour))), usersSecret("bob", "1", "eve", "2")
	b := newTestbed(t, short.tlsSecret(t), users).run()
	b.now = beginning.Add(2 * time.Hour)
	b.startAgent()
	b.mustBegin()
	b.memcached.start()
	b.settle()
	b.mustHave(true, "a1")
	b.users.set(t, without(users, "eve"))
	b.settle()
	b.mustHave(true, "a1", ReasonUserRemoved)
	if !b.memcached.serves(short, without(users, "eve")) {
		t.Error("the removed user may log in")
	}
}

// If memcached has never read a removed CA or user, no restart is required.
func TestSecretsChangeBeforeMemcachedStarts(t *testing.T) {
	ca, next := issue(t, 1, nil, authority), issue(t, 2, nil, authority)
	b := newTestbed(t, issue(t, 0xa1, ca).tlsSecret(t, ca), usersSecret("bob", "1"))
	b.mustBegin()
	b.agent.step(t.Context())
	b.tls.set(t, issue(t, 0xb2, next).tlsSecret(t, next))
	b.users.set(t, usersSecret("eve", "2"))
	b.agent.step(t.Context())
	b.mustHave(true, "")
	b.memcached.start()
	b.settle()
	b.mustHave(true, "b2")
}

func TestAFolderThatCannotBeWrittenIsReported(t *testing.T) {
	first, second := issue(t, 0xa1, nil), issue(t, 0xb2, nil)
	b := newTestbed(t, first.tlsSecret(t), usersSecret("bob", "1")).run()
	blocked := filepath.Join(b.config.Folder, "state.json.new")
	if err := os.Mkdir(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	b.tls.set(t, second.tlsSecret(t))
	b.users.set(t, usersSecret("bob", "2"))
	b.steps(3)
	b.mustHave(false, "a1")
	if count := strings.Count(b.log.String(), "It is not proven"); count != 1 {
		t.Errorf("it is logged %d times:\n%s", count, b.log.String())
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	b.settle()
	b.mustHave(true, "b2", ReasonUserRemoved)
}

// The log must not show a password or a private key, even if it shows the users that Logins returns.
func TestTheLogHasNoSecrets(t *testing.T) {
	first, second := issue(t, 0xa1, nil), issue(t, 0xb2, nil)
	b := newTestbed(t, first.tlsSecret(t), usersSecret("bob", "hunter2", "eve", "swordfish")).run()
	b.memcached.deaf = true
	b.tls.set(t, second.tlsSecret(t))
	b.users.set(t, usersSecret("bob", "hunter2", "eve", "correct horse"))
	b.steps(20)
	b.users.set(t, usersSecret("bob", "hunter2\n"))
	b.agent.step(t.Context())
	fmt.Fprintf(&b.log, "%v %+v %#v %s", b.agent.Logins(), b.agent.Logins(), b.agent.Logins(), b.agent.Logins())
	for _, secret := range []string{"hunter2", "swordfish", "correct horse", string(first.keyPEM(t))[30:60], "PRIVATE KEY-----\n", "BEGIN"} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, b.log.String())
		}
	}
	if !strings.Contains(b.log.String(), "bob") {
		t.Errorf("the log says nothing of bob:\n%s", b.log.String())
	}
}
