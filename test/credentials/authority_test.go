// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
)

func TestAuthority(t *testing.T) {
	ca, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	verify := func(id Identity, opts x509.VerifyOptions) *x509.Certificate {
		t.Helper()
		pair, err := tls.X509KeyPair(id.Certificate, id.Key)
		if err != nil {
			t.Fatal(err)
		}
		opts.Roots = roots
		if _, err := pair.Leaf.Verify(opts); err != nil {
			t.Error(err)
		}
		return pair.Leaf
	}
	server, err := ca.Server("kube-apiserver", "localhost", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", "127.0.0.1"} {
		verify(server, x509.VerifyOptions{DNSName: name})
	}
	user, err := ca.User("someone", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	leaf := verify(user, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if leaf.Subject.CommonName != "someone" || len(leaf.Subject.Organization) != 2 {
		t.Errorf("the subject is %s", leaf.Subject)
	}
}

func TestExpiredUser(t *testing.T) {
	ca, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	id, err := ca.ExpiredUser("someone")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(id.Certificate, id.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	var invalid x509.CertificateInvalidError
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: usages}); !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
		t.Errorf("got %v", err)
	}
	if err := pair.Leaf.CheckSignatureFrom(ca.certificate); err != nil {
		t.Error(err)
	}
}
