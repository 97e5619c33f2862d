// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"strings"
	"testing"
)

// For each key algorithm, memcached serves the last certificate that it has read, and the client chooses the algorithm. A restarted
// memcached starts with the current certificate only.
func TestAKeyOfAnotherAlgorithmTakesARestart(t *testing.T) {
	ofEC, ofRSA := issue(t, 0xec, nil), issueFor(t, 0x25a, rsaKey(t, 2048), nil)
	for name, test := range map[string]struct{ first, second *issued }{"to RSA": {ofEC, ofRSA}, "to ECDSA": {ofRSA, ofEC}} {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, test.first.tlsSecret(t), nil).run()
			mustWait := func() {
				t.Helper()
				b.settle()
				b.mustHave(false, serial(test.first.certificate))
				if !b.memcached.serves(test.first, nil) || b.memcached.signals != 0 {
					t.Errorf("it serves the first one only: %t; signals: %d", b.memcached.serves(test.first, nil), b.memcached.signals)
				}
			}
			b.tls.set(t, test.second.tlsSecret(t))
			mustWait()
			if !strings.Contains(b.log.String(), "InvalidCertificate: ") || !strings.Contains(b.log.String(), "kubectl memcached restart") {
				t.Errorf("the log is\n%s", b.log.String())
			}
			b.memcached.start() // with the first one
			mustWait()
			b.startAgent()
			b.mustBegin()
			mustWait()

			b.memcached.stop()
			b.agent.step(t.Context())
			b.memcached.start()
			b.settle()
			b.mustHave(true, serial(test.second.certificate))
			if !b.memcached.serves(test.second, nil) {
				t.Error("it serves the first one as well")
			}
		})
	}
}

// If memcached starts right after the agent has found none, it may have read both certificates.
func TestMemcachedStartsWhileTheAlgorithmOfTheKeyChanges(t *testing.T) {
	first, second := issue(t, 0xec, nil), issueFor(t, 0x25a, rsaKey(t, 2048), nil)
	b := newTestbed(t, first.tlsSecret(t), nil).run()
	b.memcached.stop()
	b.agent.step(t.Context())
	b.tls.set(t, second.tlsSecret(t))
	found := b.agent.processes.find
	b.agent.processes = &findsLate{b.memcached, found, b.memcached.start}
	for range 20 {
		b.agent.sleep(t.Context(), b.agent.step(t.Context()))
	}
	if status := b.agent.Status(); status.Succeeded || status.Unverified || !strings.Contains(b.log.String(), "restart") {
		t.Errorf("%+v\n%s", status, b.log.String())
	}
	for range 60 {
		b.agent.sleep(t.Context(), b.agent.step(t.Context()))
	}
	if !b.agent.Status().Unverified {
		t.Error("nobody hears of it after a minute")
	}
	b.memcached.start()
	b.settle()
	b.mustHave(true, serial(second.certificate))
	if b.agent.Status().Unverified {
		t.Error("it is told although it is over")
	}
	if !b.memcached.serves(second, nil) {
		t.Error("it does not serve the second one only")
	}
}

// findsLate starts memcached right after the agent has looked for it.
type findsLate struct {
	*fakeMemcached

	look  func() (Process, error)
	start func()
}

func (f *findsLate) find() (Process, error) {
	found, err := f.look()
	if f.start != nil {
		f.start()
		f.start = nil
	}
	return found, err
}
