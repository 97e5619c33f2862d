// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// beginning is the time of the testbed's clock when a test begins.
var beginning = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

type issued struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// issue returns a certificate with this serial number and an ECDSA key. The options can change its other fields. It is signed with the
// key of the argument "by", or with its own key if "by" is nil.
func issue(t testing.TB, number int64, by *issued, options ...func(*x509.Certificate)) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{certificate: certificate, key: key}
}

// authority is an option of issue: the certificate is that of a certificate authority.
func authority(c *x509.Certificate) { c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign }

func until(end time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = end }
}

func (i *issued) certificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.certificate.Raw})
}

func (i *issued) keyPEM(t testing.TB) []byte {
	t.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER(t, i.key)})
}

func keyDER(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func signedWith(algorithm x509.SignatureAlgorithm) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.SignatureAlgorithm = algorithm }
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

func without(secret map[string][]byte, key string) map[string][]byte {
	changed := maps.Clone(secret)
	delete(changed, key)
	return changed
}

// volume is a folder with the values of a Secret. set replaces the values as the kubelet does.
type volume struct {
	folder  string
	version int
}

func newVolume(t testing.TB, secret map[string][]byte) *volume {
	t.Helper()
	v := &volume{folder: t.TempDir()}
	v.set(t, secret)
	return v
}

func (v *volume) set(t testing.TB, secret map[string][]byte) {
	t.Helper()
	v.version++
	version := "..2026_01_02_" + strconv.Itoa(v.version)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(v.folder, version), 0o755))
	for key, value := range secret {
		must(os.WriteFile(filepath.Join(v.folder, version, key), value, 0o644))
		_ = os.Remove(filepath.Join(v.folder, key))
		must(os.Symlink(filepath.Join("..data", key), filepath.Join(v.folder, key)))
	}
	must(os.Symlink(version, filepath.Join(v.folder, "..data_tmp")))
	must(os.Rename(filepath.Join(v.folder, "..data_tmp"), filepath.Join(v.folder, "..data")))
	if v.version > 1 {
		must(os.RemoveAll(filepath.Join(v.folder, "..2026_01_02_"+strconv.Itoa(v.version-1))))
	}
}
