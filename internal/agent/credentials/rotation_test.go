// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// changed is a change of the Secrets.
type changed struct {
	from, to secrets
	// before and after are the serial numbers of the certificates that the agent sees.
	before, after string
	restart       []string
	onlyTLS13     bool
}

func changes(t *testing.T) map[string]changed {
	t.Helper()
	old, fresh, other := issue(t, 1, nil, authority), issue(t, 2, nil, authority), issue(t, 3, nil, authority)
	first, second := issue(t, 0xa1, old), issue(t, 0xb2, old)
	pair, users := first.tlsSecret(t, old), usersSecret("bob", "1", "eve", "2")
	ofEC, ofRSA := secrets{tls: issue(t, 0xec, nil).tlsSecret(t)}, secrets{tls: issueFor(t, 0x25a, rsaKey(t, 2048), nil).tlsSecret(t)}
	ca, user, certificate := []string{ReasonCARemoved}, []string{ReasonUserRemoved}, []string{ReasonCertificateRemoved}
	all := map[string]changed{
		"a new pair":            {to: secrets{second.tlsSecret(t, old), users}, after: "b2"},
		"another CA":            {to: secrets{first.tlsSecret(t, old, fresh), users}, after: "a1"},
		"a CA replaced":         {to: secrets{first.tlsSecret(t, fresh, other), users}, after: "a1", restart: ca},
		"a user more":           {to: secrets{pair, usersSecret("bob", "1", "eve", "2", "carol", "3")}, after: "a1"},
		"a user less":           {to: secrets{pair, usersSecret("eve", "2")}, after: "a1", restart: user},
		"another password":      {to: secrets{pair, usersSecret("bob", "1", "eve", "4")}, after: "a1", restart: user},
		"the first user leaves": {to: secrets{pair, usersSecret("eve", "2", "zoe", "3")}, after: "a1", restart: user},
		"everything": {
			to: secrets{second.tlsSecret(t, fresh), usersSecret("zoe", "9")}, after: "b2", restart: slices.Concat(ca, user),
		},
	}
	for name, change := range all {
		change.from, change.before = secrets{pair, users}, "a1"
		all[name] = change
	}
	// A removed user shows in no login of the current ones, and without TLS, memcached does not say when it has read its files.
	all["a user less, without TLS"] = changed{from: secrets{users: users}, to: secrets{users: usersSecret("eve", "2")}, restart: user}
	// For each key algorithm, memcached serves the last certificate that it has read, and the client chooses the algorithm.
	all["to RSA"] = changed{from: ofEC, to: ofRSA, before: "ec", after: "025a", restart: certificate}
	all["to ECDSA"] = changed{from: ofRSA, to: ofEC, before: "025a", after: "ec", restart: certificate}
	all["to RSA, with TLS 1.3"] = changed{from: ofEC, to: ofRSA, before: "ec", after: "025a", restart: certificate, onlyTLS13: true}
	all["to ECDSA, with TLS 1.3"] = changed{from: ofRSA, to: ofEC, before: "025a", after: "025a", restart: certificate, onlyTLS13: true}
	return all
}

// At first, memcached does not reload. It is signaled again and again, and the agent proves nothing, although neither an additional CA nor
// a removed user shows in the served certificate or in the logins of current users.
func TestRotation(t *testing.T) {
	for name, test := range changes(t) {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, test.from.tls, test.from.users)
			b.memcached.onlyTLS13 = test.onlyTLS13
			b.run()
			b.memcached.signals, b.memcached.deaf = 0, true
			b.set(test.to)
			mustFail := func(steps int) {
				t.Helper()
				b.steps(steps)
				b.mustHave(false, test.before, test.restart...)
				if _, err := b.memcached.refreshed(t.Context(), b.agent.Logins()); err != nil {
					t.Errorf("statistics cannot be read as %v", b.agent.Logins())
				}
			}
			mustFail(20)
			if b.memcached.signals < 10 || !b.agent.Status().Unverified {
				t.Errorf("%d signals; %+v", b.memcached.signals, b.agent.Status())
			}
			if warned := strings.Count(b.log.String(), "It is not proven"); warned != 1 {
				t.Errorf("it is logged %d times:\n%s", warned, b.log.String())
			}
			b.restartAgent() // it knows the former users from the files
			mustFail(5)

			b.memcached.deaf = false
			b.settle()
			b.mustHave(true, test.after, test.restart...)
			if logins := b.agent.Logins(); len(logins) != min(1, len(test.to.users)) {
				t.Errorf("statistics are read as %v", logins)
			}
			if entries, err := os.ReadDir(b.config.Folder); err != nil || len(entries) > 3 { // the link, a slot, and perhaps the record
				t.Errorf("the folder has %v, %v", entries, err)
			}
			b.restartAgent() // the new agent must know what memcached has read
			b.settle()
			b.mustHave(true, test.after, test.restart...)
			b.mustServeAfterRestart(test.to)
		})
	}
}

// mustServeAfterRestart fails the test unless memcached serves these Secrets, and nothing else, when it has restarted.
func (b *testbed) mustServeAfterRestart(want secrets) {
	b.t.Helper()
	next, err := check(b.config, want, nil, b.now)
	must(b.t, err)
	served, serial := &issued{}, ""
	if next.pair != nil {
		served.certificate, serial = next.pair.certificate, Serial(next.pair.certificate)
	}
	b.memcached.start()
	b.settle()
	b.mustHave(true, serial)
	if !b.memcached.serves(served, want.users) {
		b.t.Error("memcached serves something else")
	}
}

// A memcached that hangs is not signaled, and is told after a minute. If the Secrets change more than once meanwhile, the agent no longer
// knows the users that memcached accepts. It must reload memcached nevertheless.
func TestMemcachedHangsDuringAReload(t *testing.T) {
	b := newTestbed(t, issue(t, 0xa1, nil).tlsSecret(t), usersSecret("bob", "0")).run()
	b.memcached.hangs, b.memcached.signals = true, 0
	for i := range 15 {
		b.set(secrets{issue(t, int64(0xb1+i), nil).tlsSecret(t), usersSecret("bob", strings.Repeat("x", i+1))})
		b.steps(1)
	}
	b.mustHave(false, "a1", ReasonUserRemoved)
	if b.memcached.signals != 0 || !b.agent.Status().Unverified {
		t.Errorf("%d signals; %+v", b.memcached.signals, b.agent.Status())
	}
	if entries, err := os.ReadDir(b.config.Folder); err != nil || len(entries) != 4 { // the link, two slots and the record
		t.Errorf("the folder has %v, %v", entries, err)
	}
	b.memcached.hangs = false
	b.settle()
	b.mustHave(true, "bf", ReasonUserRemoved)
}

// The first and the third certificate have the same key algorithm, so the third replaces the first. The second stays until memcached
// restarts.
func TestTheAlgorithmOfTheKeyReturns(t *testing.T) {
	first, second, third := issue(t, 0xa1, nil), issueFor(t, 0xb2, rsaKey(t, 2048), nil), issue(t, 0xc3, nil)
	b := newTestbed(t, first.tlsSecret(t), nil).run()
	for _, next := range []*issued{second, third} {
		b.tls.set(t, next.tlsSecret(t))
		b.settle()
		b.mustHave(true, Serial(next.certificate), ReasonCertificateRemoved)
	}
	b.mustServeAfterRestart(secrets{tls: third.tlsSecret(t)})
}

// The agent must not accept a certificate that was never in the Secret, even if its key has another algorithm.
func TestAnUnknownCertificateOfAnotherAlgorithm(t *testing.T) {
	first, second, unknown := issue(t, 0xa1, nil), issue(t, 0xb2, nil), issueFor(t, 0x25a, rsaKey(t, 2048), nil)
	b := newTestbed(t, first.tlsSecret(t), nil).run()
	b.memcached.onlyTLS13, b.memcached.pairs[x509.RSA] = true, unknown.certificate
	b.tls.set(t, second.tlsSecret(t))
	b.steps(5)
	b.mustHave(false, "025a")
}

// memcached must start with a certificate that has expired since it was installed, and changes of the users must still take effect. A
// certificate that is not valid yet takes effect in time.
func TestValidity(t *testing.T) {
	short, fewer := issue(t, 0xa1, nil, until(beginning.Add(time.Hour))), usersSecret("bob", "1")
	b := newTestbed(t, short.tlsSecret(t), usersSecret("bob", "1", "eve", "2")).run()
	b.now = beginning.Add(2 * time.Hour)
	b.restartAgent()
	b.memcached.start()
	b.settle()
	b.mustHave(true, "a1")
	b.users.set(t, fewer)
	b.settle()
	b.mustHave(true, "a1", ReasonUserRemoved)
	if !b.memcached.serves(short, fewer) {
		t.Error("the removed user may log in")
	}
	from := b.now.Add(time.Minute)
	b.tls.set(t, issue(t, 0xb2, nil, func(c *x509.Certificate) { c.NotBefore = from }).tlsSecret(t))
	b.settle()
	b.mustHave(false, "a1", ReasonUserRemoved)
	b.now = from.Add(time.Second)
	b.settle()
	b.mustHave(true, "b2", ReasonUserRemoved)
}

// If memcached has never read a removed CA or user, no restart is required.
func TestSecretsChangeBeforeMemcachedStarts(t *testing.T) {
	ca, next := issue(t, 1, nil, authority), issue(t, 2, nil, authority)
	b := newTestbed(t, issue(t, 0xa1, ca).tlsSecret(t, ca), usersSecret("bob", "1"))
	must(t, b.begin())
	b.agent.step(t.Context())
	b.set(secrets{issue(t, 0xb2, next).tlsSecret(t, next), usersSecret("eve", "2")})
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
	must(t, os.Mkdir(blocked, 0o700))
	b.set(secrets{second.tlsSecret(t), usersSecret("bob", "2")})
	b.steps(3)
	b.mustHave(false, "a1")
	if count := strings.Count(b.log.String(), "It is not proven"); count != 1 {
		t.Errorf("it is logged %d times:\n%s", count, b.log.String())
	}
	must(t, os.Remove(blocked))
	b.settle()
	b.mustHave(true, "b2", ReasonUserRemoved)
}

// The log must not show a password or a private key, even if it shows the users that Logins returns.
func TestTheLogHasNoSecrets(t *testing.T) {
	first, second := issue(t, 0xa1, nil), issue(t, 0xb2, nil)
	b := newTestbed(t, first.tlsSecret(t), usersSecret("bob", "hunter2", "eve", "swordfish")).run()
	b.memcached.deaf = true
	b.set(secrets{second.tlsSecret(t), usersSecret("bob", "hunter2", "eve", "correct horse")})
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

// invalid are Secrets of which at least one must not be used.
type invalid struct {
	to secrets
	// want begins the agent's message.
	want string
	// served and logins are what memcached then has, nil for what it had before. Content of the other Secret takes effect.
	served  *issued
	logins  map[string][]byte
	restart []string
}

// invalidSecrets returns good Secrets with their certificate, and changes of them.
func invalidSecrets(t *testing.T) (good *issued, from secrets, all map[string]invalid) {
	t.Helper()
	ca := issue(t, 1, nil, authority)
	good, next := issue(t, 0xa1, ca), issue(t, 0xb2, ca)
	pair, users, fewer, none := good.tlsSecret(t, ca), usersSecret("bob", "1", "eve", "2"), usersSecret("bob", "1"), map[string][]byte{}
	expired := issue(t, 0xc3, ca, until(beginning.Add(-time.Second))).tlsSecret(t, ca)
	large := strings.Repeat(string(ca.certificatePEM()), 1+maxBytes/len(ca.certificatePEM()))
	const refused = "InvalidCertificate: "
	return good, secrets{pair, users}, map[string]invalid{
		"no Secret":      {to: secrets{none, users}, want: refused + "the Secret of spec.tls.secretName does not exist"},
		"expired":        {to: secrets{expired, users}, want: refused + "the certificate in tls.crt has expired"},
		"no CA":          {to: secrets{with(pair, "ca.crt", ""), users}, want: refused + "ca.crt is missing or empty"},
		"an empty value": {to: secrets{with(pair, "tls.key", ""), users}, want: refused + "tls.key is missing or empty"},
		"too many CAs":   {to: secrets{with(pair, "ca.crt", large), users}, want: refused + "tls.crt, tls.key and ca.crt are too large"},
		"both are wrong": {to: secrets{with(pair, "tls.crt", "hello"), none}, want: refused + "tls.crt holds no certificate"},
		"fewer users too": {
			to: secrets{with(pair, "tls.crt", "hello"), fewer}, want: refused + "tls.crt holds no certificate",
			logins: fewer, restart: []string{ReasonUserRemoved},
		},
		"no users": {to: secrets{pair, none}, want: "InvalidCredentials: the Secret of spec.auth.secretName does not exist or has no keys"},
		"CRLF, and a new pair": {
			to:   secrets{next.tlsSecret(t, ca), usersSecret("bob", "hunter2\r\n")},
			want: "InvalidCredentials: the password of the user bob contains a line break", served: next,
		},
	}
}

func TestInvalidSecretsChangeNothingThatServes(t *testing.T) {
	good, from, all := invalidSecrets(t)
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			served, logins, signals := cmp.Or(test.served, good), from.users, 0
			if test.logins != nil {
				logins = test.logins
			}
			if test.served != nil || test.logins != nil {
				signals = 1
			}
			b := newTestbed(t, from.tls, from.users).run()
			b.memcached.signals = 0
			b.set(test.to)
			for range 3 {
				b.settle()
			}
			b.mustHave(false, Serial(served.certificate), test.restart...)
			if !b.memcached.serves(served, logins) || b.memcached.signals != signals {
				t.Errorf("memcached serves others, after %d signals", b.memcached.signals)
			}
			if count := strings.Count(b.log.String(), test.want); count != 1 {
				t.Errorf("the log says it %d times:\n%s", count, b.log.String())
			}

			b.memcached.start() // with the last valid content
			b.restartAgent()
			b.settle()
			b.mustHave(false, Serial(served.certificate))
			if !b.memcached.serves(served, logins) || b.terminationMessage() != "" {
				t.Errorf("it serves others, or the agent said %q", b.terminationMessage())
			}

			b.set(from)
			b.settle()
			b.mustHave(true, "a1")
			if !b.memcached.serves(good, from.users) {
				t.Error("memcached does not serve what was taken back")
			}
		})
	}
}

// Each problem ends the agent once, with a message for the kubelet, which delays each further restart longer. Then the agent waits inside.
func TestMemcachedDoesNotStartWithInvalidSecrets(t *testing.T) {
	_, from, all := invalidSecrets(t)
	delete(all, "no Secret") // each test begins with it
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, map[string][]byte{}, map[string][]byte{})
			b.config.ClientCA = true
			// ends runs a new agent until it ends. At its third wait, the Secrets change.
			ends := func(to secrets) error {
				b.startAgent()
				waits, wait := 0, b.agent.sleep
				b.agent.sleep = func(ctx context.Context, period time.Duration) {
					if waits++; waits == 3 {
						b.set(to)
					}
					if status := b.agent.Status(); waits <= 3 && (status.Started || status.Waiting == "" || period != time.Second) {
						t.Errorf("it waits %s: %+v", period, status)
					}
					wait(ctx, period)
				}
				return b.begin()
			}
			if err := ends(test.to); err == nil || !strings.Contains(err.Error(), "the Secret of spec.tls.secretName does not exist") {
				t.Errorf("without a Secret: %v", err)
			}
			err := ends(test.to)
			var refusal *InvalidError
			if !errors.As(err, &refusal) || !strings.HasPrefix(err.Error(), test.want) || b.terminationMessage() != err.Error() {
				t.Fatalf("got %v, and the termination message %q, want %q", err, b.terminationMessage(), test.want)
			}
			if strings.Contains(err.Error()+b.log.String(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the message is %q", err)
			}
			must(t, ends(from))
			b.memcached.start()
			b.settle()
			b.mustHave(true, "a1")
			if b.agent.record.Refused != "" {
				t.Errorf("the problem is still remembered: %s", b.agent.record.Refused)
			}
		})
	}
}
