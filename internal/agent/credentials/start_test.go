// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// invalidSecrets returns Secrets that memcached must not use, and the beginning of the agent's termination message.
func invalidSecrets(t *testing.T) map[string]struct {
	tls, users map[string][]byte
	want       string
} {
	t.Helper()
	ca := issue(t, 1, nil, authority)
	good := issue(t, 0xa1, ca)
	pair, users := good.tlsSecret(t, ca), usersSecret("bob", "1")
	type secrets = struct {
		tls, users map[string][]byte
		want       string
	}
	return map[string]secrets{
		"no Secret":      {map[string][]byte{}, users, "InvalidCertificate: the Secret of spec.tls.secretName does not exist"},
		"expired":        {issue(t, 0xc3, ca, until(beginning.Add(-time.Second))).tlsSecret(t, ca), users, "InvalidCertificate: the certificate in tls.crt has expired"},
		"no CA":          {without(pair, "ca.crt"), users, "InvalidCertificate: ca.crt is missing or empty"},
		"an empty value": {with(pair, "tls.key", ""), users, "InvalidCertificate: tls.key is missing or empty"},
		"no users":       {pair, map[string][]byte{}, "InvalidCredentials: the Secret of spec.auth.secretName does not exist or has no keys"},
		"CRLF":           {pair, usersSecret("bob", "hunter2\r\n"), "InvalidCredentials: the password of the user bob contains a line break"},
		"both are wrong": {with(pair, "tls.crt", "hello"), map[string][]byte{}, "InvalidCertificate: tls.crt holds no certificate"},
		"too many CAs":   {with(pair, "ca.crt", strings.Repeat(string(ca.certificatePEM()), 1+maxBytes/len(ca.certificatePEM()))), users, "InvalidCertificate: tls.crt, tls.key and ca.crt are too large"},
	}
}

func TestInvalidSecretsChangeNothingThatServes(t *testing.T) {
	for name, test := range invalidSecrets(t) {
		t.Run(name, func(t *testing.T) {
			ca := issue(t, 1, nil, authority)
			good, users := issue(t, 0xa1, ca), usersSecret("bob", "old")
			b := newTestbed(t, good.tlsSecret(t, ca), users).run()
			if strings.HasPrefix(test.want, ReasonInvalidCertificate) {
				b.tls.set(t, test.tls)
			} else {
				b.users.set(t, test.users)
			}
			for range 3 {
				b.settle()
			}
			b.mustHave(false, "a1")
			if !b.memcached.serves(good, users) || b.memcached.signals != 1 { // at its start
				t.Error("memcached has noticed")
			}
			if count := strings.Count(b.log.String(), test.want); count != 1 {
				t.Errorf("the log says it %d times:\n%s", count, b.log.String())
			}

			b.memcached.start() // with the last valid content
			b.startAgent()
			b.mustBegin()
			b.settle()
			b.mustHave(false, "a1")
			if !b.memcached.serves(good, users) || b.terminationMessage() != "" {
				t.Errorf("it serves others, or the agent said %q", b.terminationMessage())
			}

			b.tls.set(t, good.tlsSecret(t, ca))
			b.users.set(t, users)
			b.settle()
			b.mustHave(true, "a1")
		})
	}
}

// The content of a valid Secret takes effect, even if the other Secret is invalid.
func TestASecretIsInvalidAndTheOtherChanges(t *testing.T) {
	first, second := issue(t, 0xa1, nil), issue(t, 0xb2, nil)
	before, after := usersSecret("bob", "1", "eve", "2"), usersSecret("bob", "1")
	invalid := with(second.tlsSecret(t), "tls.crt", "garbage")
	for name, test := range map[string]struct {
		tls, users map[string][]byte
		served     *issued
		logins     map[string][]byte
		restart    []string
		want       string
	}{
		"the certificate": {invalid, after, first, after, []string{ReasonUserRemoved}, "InvalidCertificate: tls.crt holds no certificate"},
		"the users":       {second.tlsSecret(t), usersSecret("bob", ""), second, before, nil, "InvalidCredentials: the password of the user bob"},
		"both":            {invalid, usersSecret("bob", ""), first, before, nil, "InvalidCertificate: tls.crt holds no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, first.tlsSecret(t), before).run()
			b.tls.set(t, test.tls)
			b.users.set(t, test.users)
			for range 3 {
				b.settle()
			}
			b.mustHave(false, Serial(test.served.certificate), test.restart...)
			if !b.memcached.serves(test.served, test.logins) || b.memcached.signals > 2 {
				t.Errorf("memcached serves others, after %d signals", b.memcached.signals)
			}
			if count := strings.Count(b.log.String(), test.want); count != 1 {
				t.Errorf("the log says it %d times:\n%s", count, b.log.String())
			}

			b.tls.set(t, first.tlsSecret(t)) // both are taken back at once
			b.users.set(t, before)
			b.settle()
			b.mustHave(true, "a1", test.restart...)
			if !b.memcached.serves(first, before) {
				t.Error("memcached does not serve what was taken back")
			}
		})
	}
}

func TestMemcachedDoesNotStartWithInvalidSecrets(t *testing.T) {
	for name, test := range invalidSecrets(t) {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, test.tls, test.users)
			b.config.ClientCA = true
			b.startAgent()
			err := b.begin()
			var invalid *InvalidError
			if !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), test.want) || b.terminationMessage() != err.Error() {
				t.Errorf("got %v, and the termination message %q, want %q", err, b.terminationMessage(), test.want)
			}
			if strings.Contains(err.Error()+b.log.String(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the message is %q", err)
			}
		})
	}
}

// The agent must end only once for the same problem, because the kubelet delays each further restart longer.
func TestTheSameProblemIsSaidOnce(t *testing.T) {
	good := issue(t, 0xa1, nil)
	b := newTestbed(t, map[string][]byte{}, usersSecret("bob", "1"))
	if err := b.begin(); err == nil {
		t.Fatal("it begins")
	}

	b.startAgent()
	waits := 0
	wait := b.agent.sleep
	b.agent.sleep = func(ctx context.Context, period time.Duration) {
		waits++
		if waits == 3 {
			b.tls.set(t, with(good.tlsSecret(t), "tls.crt", "garbage"))
		}
		if status := b.agent.Status(); status.Started || !strings.Contains(status.Waiting, "does not exist") || period != time.Second {
			t.Errorf("it waits %s: %+v", period, status)
		}
		wait(ctx, period)
	}
	if err := b.begin(); err == nil || !strings.Contains(err.Error(), "tls.crt holds no certificate") || err.Error() != b.terminationMessage() || waits != 3 {
		t.Errorf("another problem: %v after %d waits; the message is %q", err, waits, b.terminationMessage())
	}

	b.startAgent()
	wait = b.agent.sleep
	b.agent.sleep = func(ctx context.Context, period time.Duration) {
		b.tls.set(t, good.tlsSecret(t))
		wait(ctx, period)
	}
	b.run()
	b.mustHave(true, "a1")
	if b.agent.record.Refused != "" {
		t.Errorf("the problem is still remembered: %s", b.agent.record.Refused)
	}
}
