// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// certificateLifetime is far longer than any simulated cluster lives.
const certificateLifetime = 30 * 24 * time.Hour

// authority signs the certificate of the API server and those of its users: the cluster has one CA for both.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

// identity is a certificate with its private key, both PEM encoded.
type identity struct {
	certificate, key []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "simulated-cluster"}, key)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: key, pem: encodeCertificate(certificate.Raw)}, nil
}

// server issues the serving certificate of the API server, which only ever listens on the loopback interface.
func (a *authority) server() (identity, error) {
	return a.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.ParseIP(loopback)},
	})
}

// user issues a client certificate: Kubernetes takes the user's name and groups from its subject.
func (a *authority) user(name string, groups []string) (identity, error) {
	return a.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) issue(template x509.Certificate) (identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return identity{}, err
	}
	template.SerialNumber = serial
	template.KeyUsage = x509.KeyUsageDigitalSignature
	// A clock that is set back a little must not make the certificate one of the future.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.Add(certificateLifetime)
	raw, err := x509.CreateCertificate(rand.Reader, &template, a.certificate, key.Public(), a.key)
	if err != nil {
		return identity{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return identity{}, err
	}
	return identity{certificate: encodeCertificate(raw), key: keyPEM}, nil
}

func encodeCertificate(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: raw})
}

// writePKI writes the files that the control plane reads; their names are the file constants of controlplane.go.
func writePKI(dir string, ca *authority) error {
	server, err := ca.server()
	if err != nil {
		return fmt.Errorf("issuing the certificate of the API server: %w", err)
	}
	serviceAccountKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("making the key of the service accounts: %w", err)
	}
	for name, content := range map[string][]byte{
		caFile:                ca.pem,
		serverCertificateFile: server.certificate,
		serverKeyFile:         server.key,
		serviceAccountKeyFile: serviceAccountKey,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
