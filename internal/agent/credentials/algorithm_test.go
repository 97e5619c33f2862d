// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/x509"
	"testing"
)

// algorithmChange is a change of the Secret to a certificate whose key has another algorithm.
type algorithmChange struct {
	first, second *issued
	onlyTLS13     bool
	// served is the serial number of the certificate that the agent sees while memcached serves both.
	served string
}

func algorithmChanges(t *testing.T) map[string]algorithmChange {
	t.Helper()
	ofEC, ofRSA := issue(t, 0xec, nil), issueFor(t, 0x25a, rsaKey(t, 2048), nil)
	return map[string]algorithmChange{
		"to RSA":                 {first: ofEC, second: ofRSA, served: "025a"},
		"to ECDSA":               {first: ofRSA, second: ofEC, served: "ec"},
		"to RSA, with TLS 1.3":   {first: ofEC, second: ofRSA, served: "025a", onlyTLS13: true},
		"to ECDSA, with TLS 1.3": {first: ofRSA, second: ofEC, served: "025a", onlyTLS13: true},
	}
}

func (c algorithmChange) run(t *testing.T) *testbed {
	t.Helper()
	b := newTestbed(t, c.first.tlsSecret(t), nil)
	b.memcached.onlyTLS13 = c.onlyTLS13
	return b.run()
}

// mustHavePairs fails the test unless memcached has exactly these certificates, at most one for each key algorithm.
func (b *testbed) mustHavePairs(want ...*issued) {
	b.t.Helper()
	if len(b.memcached.pairs) != len(want) {
		b.t.Errorf("memcached has %d certificates, want %d", len(b.memcached.pairs), len(want))
	}
	for _, one := range want {
		if has := b.memcached.pairs[one.certificate.PublicKeyAlgorithm]; has == nil || !has.Equal(one.certificate) {
			b.t.Errorf("memcached does not have the certificate %s", Serial(one.certificate))
		}
	}
}

// For each key algorithm, memcached serves the last certificate that it has read, and the client chooses the algorithm. After a restart,
// memcached must serve only the current certificate.
func TestAKeyOfAnotherAlgorithmTakesARestart(t *testing.T) {
	for name, test := range algorithmChanges(t) {
		t.Run(name, func(t *testing.T) {
			b := test.run(t)
			b.tls.set(t, test.second.tlsSecret(t))
			b.settle()
			b.mustHave(true, test.served, ReasonCertificateRemoved)
			b.mustHavePairs(test.first, test.second)
			if status := b.agent.Status(); !status.Installed.Equal(test.second.certificate) || b.memcached.signals != 2 {
				t.Errorf("the certificate %s is installed after %d signals", Serial(status.Installed), b.memcached.signals)
			}
			b.startAgent()
			b.mustBegin()
			b.settle()
			b.mustHave(true, test.served, ReasonCertificateRemoved)

			b.memcached.start()
			b.settle()
			b.mustHave(true, Serial(test.second.certificate))
			b.mustHavePairs(test.second)
		})
	}
}

// The agent must notice that memcached has not read a new certificate whose key has another algorithm.
func TestAKeyOfAnotherAlgorithmIsNotRead(t *testing.T) {
	for name, test := range algorithmChanges(t) {
		t.Run(name, func(t *testing.T) {
			b := test.run(t)
			b.memcached.deaf = true
			b.tls.set(t, test.second.tlsSecret(t))
			b.steps(20)
			b.mustHave(false, Serial(test.first.certificate), ReasonCertificateRemoved)
			if !b.agent.Status().Unverified {
				t.Error("nobody hears of it after a minute")
			}
			b.memcached.deaf = false
			b.settle()
			b.mustHave(true, test.served, ReasonCertificateRemoved)
		})
	}
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
	b.mustHavePairs(second, third)
	b.memcached.start()
	b.settle()
	b.mustHave(true, "c3")
	b.mustHavePairs(third)
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
