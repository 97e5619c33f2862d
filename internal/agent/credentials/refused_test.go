// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package credentials

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The agent must refuse files with which memcached would not start, and accept files with which it starts.
func TestWhatMemcachedRefusesToStartWith(t *testing.T) {
	t.Parallel()
	ca := issue(t, 1, nil, authority)
	ec, rsa2048, rsa1024 := issue(t, 0xa1, ca), issueFor(t, 0xa2, rsaKey(t, 2048), ca), issueFor(t, 0xa3, rsaKey(t, 1024), ca)
	root := issue(t, 0xa4, nil, authority, signedWith(x509.ECDSAWithSHA1))
	good, crt, chained := ec.tlsSecret(t, ca), string(ec.certificatePEM()), string(ca.certificatePEM())
	_, twisted, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edwards := issueFor(t, 0xa5, twisted, ca)
	sec1, err := x509.MarshalECPrivateKey(ec.key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := x509.MarshalPKCS1PrivateKey(rsa2048.key.(*rsa.PrivateKey))
	for name, test := range map[string]struct {
		secret map[string][]byte
		starts bool
	}{
		"a chain":                    {with(good, "tls.crt", crt+chained), true},
		"text around, from Windows":  {with(good, "tls.crt", "mine\r\n"+strings.ReplaceAll(crt+"its CA\n"+chained, "\n", "\r\n")), true},
		"a root signed with SHA-1":   {with(good, "tls.crt", crt+string(root.certificatePEM())), true},
		"SEC 1 with parameters":      {with(good, "tls.key", block("EC PARAMETERS", p256)+block("EC PRIVATE KEY", sec1)), true},
		"PKCS #8 as SEC 1":           {with(good, "tls.key", block("EC PRIVATE KEY", keyDER(t, ec.key))), true},
		"PKCS #1":                    {with(rsa2048.tlsSecret(t, ca), "tls.key", block("RSA PRIVATE KEY", pkcs1)), true},
		"PKCS #8 as PKCS #1":         {with(rsa2048.tlsSecret(t, ca), "tls.key", block("RSA PRIVATE KEY", keyDER(t, rsa2048.key))), true},
		"Ed25519":                    {edwards.tlsSecret(t, ca), true},
		"a short RSA key":            {rsa1024.tlsSecret(t, ca), false},
		"a short RSA key in a chain": {with(good, "tls.crt", crt+string(rsa1024.certificatePEM())), false},
		"a chain cut off":            {with(good, "tls.crt", crt+chained[:len(chained)/2]), false},
		"a damaged chain":            {with(good, "tls.crt", crt+strings.Replace(chained, "M", "!", 1)), false},
		"a blank line in a chain":    {with(good, "tls.crt", crt+strings.Replace(chained, "\n-----END", "\n\n-----END", 1)), false},
		"a header in a chain":        {with(good, "tls.crt", crt+strings.Replace(chained, "-----\n", "-----\nA: b\n\n", 1)), false},
		"a chain without a line end": {with(good, "tls.crt", strings.TrimSpace(crt)+chained), false},
		"CAs without a line end":     {with(good, "ca.crt", strings.TrimSpace(chained)+chained), false},
		"a CA cut off":               {with(good, "ca.crt", chained+chained[:len(chained)/2]), false},
		"PKCS #8 of another kind":    {with(good, "tls.key", block("RSA PRIVATE KEY", keyDER(t, ec.key))), false},
		"Ed25519 as SEC 1":           {with(edwards.tlsSecret(t, ca), "tls.key", block("EC PRIVATE KEY", keyDER(t, edwards.key))), false},
		"SEC 1 as PKCS #8":           {with(good, "tls.key", block("PRIVATE KEY", sec1)), false},
		"SEC 1 as PKCS #1":           {with(good, "tls.key", block("RSA PRIVATE KEY", sec1)), false},
		"PKCS #1 as PKCS #8":         {with(rsa2048.tlsSecret(t, ca), "tls.key", block("PRIVATE KEY", pkcs1)), false},
		"PKCS #1 as SEC 1":           {with(rsa2048.tlsSecret(t, ca), "tls.key", block("EC PRIVATE KEY", pkcs1)), false},
	} {
		if _, err := parseContent(Config{TLSSecret: "/", ClientCA: true}, secrets{certificate: test.secret}); (err == nil) != test.starts {
			t.Errorf("%s: the agent says %v", name, err)
		}
		if starts, output := startsWith(t, test.secret); starts != test.starts {
			t.Errorf("%s: memcached starts is %t: %s", name, starts, output)
		}
	}
}

// p256 is the content of a PEM block EC PARAMETERS for the curve P-256.
var p256 = []byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07}

// startsWith reports whether memcached starts with these files.
func startsWith(t *testing.T, files map[string][]byte) (starts bool, output string) {
	t.Helper()
	folder, address := t.TempDir(), freeAddress(t)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &pod{t: t, config: Config{Processes: t.TempDir()}, args: []string{
		"-Z", "-o", "ssl_chain_cert=" + folder + "/tls.crt,ssl_key=" + folder + "/tls.key,ssl_ca_cert=" + folder + "/ca.crt",
		"-l", address, "-U", "0",
	}}
	p.start()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.memcached.Wait()
	}()
	defer func() {
		_ = p.memcached.Process.Kill()
		<-ended
	}()
	for range 500 {
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
			return true, ""
		}
		select {
		case <-ended:
			if code := p.memcached.ProcessState.ExitCode(); code != 64 {
				t.Errorf("exit code %d: %s", code, p.output.String())
			}
			return false, p.output.String()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false, "it neither serves nor ends"
}
