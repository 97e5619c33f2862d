// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// testbed simulates a pod: an agent, a memcached, Secrets, and a clock that moves only while the agent sleeps.
type testbed struct {
	t          testing.TB
	config     Config
	tls, users *volume
	memcached  *fakeMemcached
	now        time.Time
	sinceTick  time.Duration
	log        bytes.Buffer
	agent      *Reloader
}

// newTestbed returns a testbed whose agent does not run yet. If a Secret is nil, the pod has no volume for it.
func newTestbed(t testing.TB, tlsSecret, usersSecret map[string][]byte) *testbed {
	t.Helper()
	folder := t.TempDir()
	b := &testbed{
		t: t, now: beginning, tls: &volume{folder: t.TempDir()}, users: &volume{folder: t.TempDir()},
		config:    Config{Folder: folder, TerminationLog: filepath.Join(t.TempDir(), "termination-log")},
		memcached: &fakeMemcached{t: t, folder: folder, tls: tlsSecret != nil, users: usersSecret != nil, ticks: 1, beforeCall: func() {}},
	}
	if tlsSecret != nil {
		_, b.config.ClientCA = tlsSecret["ca.crt"]
		b.config.TLSSecret = b.tls.folder
	}
	if usersSecret != nil {
		b.config.UsersSecret = b.users.folder
	}
	b.set(secrets{tlsSecret, usersSecret})
	must(t, os.WriteFile(b.config.TerminationLog, nil, 0o600))
	b.startAgent()
	return b
}

// set changes the Secrets. A pod without a volume for one does not notice.
func (b *testbed) set(to secrets) {
	b.t.Helper()
	b.tls.set(b.t, to.tls)
	b.users.set(b.t, to.users)
}

// startAgent replaces the agent by a new one, as after a restart of its container.
func (b *testbed) startAgent() {
	b.agent = New(b.config, "", slog.New(slog.NewTextHandler(&b.log, nil)))
	b.agent.processes, b.agent.server = b.memcached, b.memcached
	b.agent.now = func() time.Time { return b.now }
	b.agent.sleep = func(_ context.Context, period time.Duration) {
		b.now = b.now.Add(period)
		for b.sinceTick += period; b.sinceTick >= time.Second; b.sinceTick -= time.Second {
			b.memcached.tick()
		}
	}
}

// begin runs the agent until memcached may start, or until the agent ends.
func (b *testbed) begin() error {
	if err := b.agent.open(); err != nil {
		return err
	}
	for b.agent.current == nil {
		b.steps(1)
		if err := b.agent.refusal(); err != nil {
			return err
		}
	}
	return nil
}

// restartAgent runs a new agent until memcached may start.
func (b *testbed) restartAgent() {
	b.t.Helper()
	b.startAgent()
	must(b.t, b.begin())
}

func (b *testbed) run() *testbed {
	b.t.Helper()
	must(b.t, b.begin())
	b.memcached.start()
	b.settle()
	return b
}

// settle runs steps of the agent until it has nothing to do.
func (b *testbed) settle() {
	b.t.Helper()
	for range 200 {
		period := b.agent.step(b.t.Context())
		if period == pollPeriod && b.agent.failure == nil {
			return
		}
		b.agent.sleep(b.t.Context(), period)
	}
	b.t.Fatalf("the agent does not settle: %v\n%s", b.agent.failure, b.log.String())
}

// steps runs some steps of an agent that does not settle.
func (b *testbed) steps(count int) {
	for range count {
		b.agent.sleep(b.t.Context(), b.agent.step(b.t.Context()))
	}
}

func (b *testbed) mustHave(succeeded bool, serial string, restart ...string) {
	b.t.Helper()
	status := b.agent.Status()
	got := ""
	if status.Served != nil {
		got = Serial(status.Served)
	}
	want := map[string]bool{ReasonCARemoved: false, ReasonCertificateRemoved: false, ReasonUserRemoved: false}
	for _, reason := range restart {
		want[reason] = true
	}
	if status.Succeeded != succeeded || got != serial || !maps.Equal(status.RestartRequired, want) {
		b.t.Errorf("succeeded is %t, want %t; the serial %q, want %q; restart required %v, want %v", status.Succeeded, succeeded, got, serial,
			status.RestartRequired, want)
	}
	if (status.Process != Process{}) != (len(restart) > 0) {
		b.t.Errorf("the process %v must restart", status.Process)
	}
	if b.config.TLSSecret != "" && status.Installed == nil {
		b.t.Error("it has no certificate")
	}
}

func (b *testbed) terminationMessage() string {
	b.t.Helper()
	text, err := os.ReadFile(b.config.TerminationLog)
	must(b.t, err)
	return string(text)
}

// fakeMemcached reads its files as memcached 1.6.45 does. It acts on a signal only at its next tick. If the key does not match the
// certificate, it refuses every client. It serves a certificate until it reads another one whose key has the same algorithm. It trusts
// every CA that it has read. It ignores a user file that it cannot parse.
type fakeMemcached struct {
	t      testing.TB
	folder string
	tls    bool
	users  bool

	process Process
	started int
	// hangs makes it answer nothing, deaf makes it ignore signals, and onlyTLS13 makes it refuse TLS 1.2.
	hangs, deaf, onlyTLS13 bool
	signaled               bool
	ticks                  int64

	// pairs are the served certificates by the algorithm of their key.
	pairs     map[x509.PublicKeyAlgorithm]*x509.Certificate
	refreshAt int64
	trusted   []string
	lines     []string
	everLines []string
	signals   int
	// beforeCall runs ahead of each call of the agent.
	beforeCall func()
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

// file returns the content of a file, which may be missing.
func (f *fakeMemcached) file(name string) []byte {
	content, _ := os.ReadFile(filepath.Join(f.folder, "current", name))
	return content
}

// read replaces the users. It replaces the certificate for one key algorithm, as OpenSSL does, and adds the CAs to the trusted ones.
func (f *fakeMemcached) read() {
	if lines := strings.Split(strings.TrimSuffix(string(f.file("users")), "\n"), "\n"); f.users && !slices.Contains(lines, "") {
		f.lines = lines
		f.everLines = append(f.everLines, lines...)
	}
	pair, err := tls.X509KeyPair(f.file("tls.crt"), f.file("tls.key"))
	if err != nil {
		f.pairs = nil
		return
	}
	if f.pairs == nil {
		f.pairs = map[x509.PublicKeyAlgorithm]*x509.Certificate{}
	}
	f.pairs[pair.Leaf.PublicKeyAlgorithm], f.refreshAt = pair.Leaf, f.ticks
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

// find implements processes.
func (f *fakeMemcached) find() (Process, error) {
	f.beforeCall()
	return f.process, nil
}

// hangUp implements processes.
func (f *fakeMemcached) hangUp(process Process) error {
	f.beforeCall()
	if process != f.process {
		return errGone
	}
	f.signaled = true
	f.signals++
	f.beforeCall() // after the signal
	return nil
}

// answers implements server.
func (f *fakeMemcached) answers(context.Context) error {
	f.beforeCall()
	if f.process == (Process{}) {
		return errors.New("connection refused")
	} else if f.hangs {
		return os.ErrDeadlineExceeded
	}
	return nil
}

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
	return nil, errors.New("handshake failure")
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
		return 0, errors.New("unauthenticated")
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

// beginning is the time of the testbed's clock when a test begins.
var beginning = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type issued struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// issue returns a certificate with this serial number and an ECDSA key. The options can change its other fields. It is signed with the
// key of the argument "by", or with its own key if "by" is nil.
func issue(t testing.TB, number int64, by *issued, options ...func(*x509.Certificate)) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return issueFor(t, number, key, by, options...)
}

func issueFor(t testing.TB, number int64, key crypto.Signer, by *issued, options ...func(*x509.Certificate)) *issued {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: "node " + strconv.FormatInt(number, 16)},
		DNSNames: []string{"localhost"}, NotBefore: beginning.Add(-time.Hour), NotAfter: beginning.AddDate(20, 0, 0),
		BasicConstraintsValid: true,
	}
	for _, option := range options {
		option(template)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	must(t, err)
	certificate, err := x509.ParseCertificate(raw)
	must(t, err)
	return &issued{certificate: certificate, key: key}
}

// authority is an option of issue: the certificate is that of a certificate authority.
func authority(c *x509.Certificate) { c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign }

func until(end time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = end }
}

func signedWith(algorithm x509.SignatureAlgorithm) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.SignatureAlgorithm = algorithm }
}

func (i *issued) certificatePEM() []byte { return []byte(block("CERTIFICATE", i.certificate.Raw)) }

func (i *issued) keyPEM(t testing.TB) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	must(t, err)
	return []byte(block("PRIVATE KEY", der))
}

// tlsSecret returns a Secret as cert-manager writes it: with the certificate, its key, and the CAs, if any, in ca.crt.
func (i *issued) tlsSecret(t testing.TB, authorities ...*issued) map[string][]byte {
	t.Helper()
	secret := map[string][]byte{"tls.crt": i.certificatePEM(), "tls.key": i.keyPEM(t)}
	for _, authority := range authorities {
		secret["ca.crt"] = append(secret["ca.crt"], authority.certificatePEM()...)
	}
	return secret
}

func usersSecret(pairs ...string) map[string][]byte {
	secret := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		secret[pairs[i]] = []byte(pairs[i+1])
	}
	return secret
}

func with(secret map[string][]byte, key, value string) map[string][]byte {
	changed := maps.Clone(secret)
	changed[key] = []byte(value)
	return changed
}

func writeFiles(t testing.TB, folder string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		must(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
}

// volume is a folder with the values of a Secret. set replaces the values as the kubelet does.
type volume struct {
	folder  string
	version int
}

func (v *volume) set(t testing.TB, secret map[string][]byte) {
	t.Helper()
	v.version++
	version := "..2026_01_02_" + strconv.Itoa(v.version)
	must(t, os.Mkdir(filepath.Join(v.folder, version), 0o755))
	writeFiles(t, filepath.Join(v.folder, version), secret)
	must(t, os.Symlink(version, filepath.Join(v.folder, "..data_tmp")))
	must(t, os.Rename(filepath.Join(v.folder, "..data_tmp"), filepath.Join(v.folder, "..data")))
	must(t, os.RemoveAll(filepath.Join(v.folder, "..2026_01_02_"+strconv.Itoa(v.version-1))))
}
