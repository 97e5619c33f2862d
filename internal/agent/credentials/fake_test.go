// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeMemcached reads its files as memcached 1.6.45 does. It acts on a signal only at its next tick. If the key does not match the
// certificate, it refuses every client. It serves a certificate until it reads another one whose key has the same algorithm. It trusts
// every CA that it has read. It ignores a user file that it cannot parse.
type fakeMemcached struct {
	t      testing.TB
	folder string
	tls    bool
	users  bool

	process Process
	started uint64
	// hangs makes it answer nothing, deaf makes it ignore signals, and onlyTLS13 makes it refuse TLS 1.2.
	hangs, deaf, onlyTLS13 bool
	signaled               bool
	ticks                  int64

	// pairs are the served certificates by the algorithm of their key.
	pairs      map[x509.PublicKeyAlgorithm]*x509.Certificate
	refreshAt  int64
	trusted    []string
	lines      []string
	everLines  []string
	signals    int
	calls      int
	beforeCall func(number int)
}

func (f *fakeMemcached) start() {
	f.started++
	f.process = Process{ID: 7, Started: f.started} // the kernel may use an ID again
	f.pairs, f.trusted, f.lines, f.everLines, f.signaled = nil, nil, nil, nil, false
	f.read()
	if f.tls && len(f.pairs) == 0 || f.users && len(f.lines) == 0 {
		f.t.Errorf("memcached does not start with these files")
	}
}

func (f *fakeMemcached) file(name string) []byte {
	content, err := os.ReadFile(filepath.Join(f.folder, "current", name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Error(err)
	}
	return content
}

func (f *fakeMemcached) read() {
	if f.tls {
		f.readCertificates()
	}
	if lines := strings.Split(strings.TrimSuffix(string(f.file("users")), "\n"), "\n"); f.users && !slices.Contains(lines, "") {
		f.lines = lines
		f.everLines = append(f.everLines, lines...)
	}
}

// readCertificates replaces the certificate for one key algorithm, as OpenSSL does, and adds the CAs to the trusted ones.
func (f *fakeMemcached) readCertificates() {
	pair, err := tls.X509KeyPair(f.file("tls.crt"), f.file("tls.key"))
	switch {
	case err != nil:
		f.pairs = nil
	case f.pairs == nil:
		f.pairs = map[x509.PublicKeyAlgorithm]*x509.Certificate{}
		fallthrough
	default:
		f.pairs[pair.Leaf.PublicKeyAlgorithm], f.refreshAt = pair.Leaf, f.ticks
	}
	authorities, _ := parseCertificates("ca.crt", f.file("ca.crt"))
	for _, authority := range authorities {
		f.trusted = append(f.trusted, string(authority.Raw))
	}
}

// tick lets a second pass.
func (f *fakeMemcached) tick() {
	f.ticks++
	if f.signaled && f.process != (Process{}) && !f.deaf {
		f.signaled = false
		f.read()
	}
}

func linesOf(users map[string][]byte) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(users)) {
		lines = append(lines, name+":"+string(users[name]))
	}
	return lines
}

// removed reports whether memcached trusts another CA, and whether it has ever accepted a user that is not in users.
func (f *fakeMemcached) removed(authority *issued, users map[string][]byte) (ca, user bool) {
	return len(missing(f.trusted, []string{string(authority.certificate.Raw)})) > 0, len(missing(f.everLines, linesOf(users))) > 0
}

func (f *fakeMemcached) called() {
	f.calls++
	if f.beforeCall != nil {
		f.beforeCall(f.calls)
	}
}

// find implements processes.
func (f *fakeMemcached) find() (Process, error) {
	f.called()
	return f.process, nil
}

// hangUp implements processes.
func (f *fakeMemcached) hangUp(process Process) error {
	f.called()
	if process != f.process {
		return errGone
	}
	f.signaled = true
	f.signals++
	f.called() // after the signal
	return nil
}

var errRefused = errors.New("connection refused")

// answers implements server.
func (f *fakeMemcached) answers(context.Context) error {
	f.called()
	if f.process == (Process{}) {
		return errRefused
	} else if f.hangs {
		return os.ErrDeadlineExceeded
	}
	return nil
}

var errHandshake = errors.New("handshake failure")

// certificate implements server. Go's clients prefer RSA. They can ask for an algorithm only with TLS 1.2.
func (f *fakeMemcached) certificate(ctx context.Context, algorithm x509.PublicKeyAlgorithm) (*x509.Certificate, error) {
	if err := f.answers(ctx); err != nil {
		return nil, err
	}
	if shown, found := f.pairs[algorithm]; found && !f.onlyTLS13 {
		return shown, nil
	}
	for _, kind := range []x509.PublicKeyAlgorithm{x509.RSA, x509.ECDSA} {
		if shown, found := f.pairs[kind]; found {
			return shown, nil
		}
	}
	return nil, errHandshake
}

// accepts implements server.
func (f *fakeMemcached) accepts(ctx context.Context, user User) (bool, error) {
	if err := f.answers(ctx); err != nil {
		return false, err
	}
	return slices.Contains(f.lines, user.line()), nil
}

// refreshed implements server.
func (f *fakeMemcached) refreshed(ctx context.Context, users []User) (int64, error) {
	if err := f.answers(ctx); err != nil {
		return 0, err
	}
	if f.users && !slices.ContainsFunc(users, func(user User) bool { return slices.Contains(f.lines, user.line()) }) {
		return 0, errRefused
	}
	return f.refreshAt, nil
}

// serves reports whether new clients always get this certificate, and can log in as exactly these users.
func (f *fakeMemcached) serves(secret *issued, users map[string][]byte) bool {
	for _, shown := range f.pairs { // each client prefers one of them
		if !shown.Equal(secret.certificate) {
			return false
		}
	}
	return (!f.tls || len(f.pairs) > 0) && (!f.users || slices.Equal(f.lines, linesOf(users)))
}
