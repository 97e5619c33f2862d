// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials makes the certificates and kubeconfig files of the clusters that tests and the demo start.
package credentials

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
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// lifetime is how long an issued certificate is valid. It is far longer than any of these clusters exists.
const lifetime = 30 * 24 * time.Hour

// Authority is the CA of a cluster. It signs the certificates of servers and of users.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

// Identity is a certificate with its private key, both PEM encoded.
type Identity struct {
	Certificate, Key []byte
}

// NewAuthority makes a CA whose key stays in memory.
func NewAuthority(commonName string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: commonName}, key)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: certificate, key: key, pem: encodeCertificate(certificate.Raw)}, nil
}

// PEM returns the certificate of the CA, PEM encoded.
func (a *Authority) PEM() []byte { return a.pem }

// Server issues a serving certificate for a component. Each host is a DNS name or an IP address.
func (a *Authority) Server(component string, hosts ...string) (Identity, error) {
	template := x509.Certificate{
		Subject:     pkix.Name{CommonName: component},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	id, err := a.issue(template)
	if err != nil {
		return Identity{}, fmt.Errorf("issuing the certificate of %s: %w", component, err)
	}
	return id, nil
}

// User issues a client certificate for a Kubernetes user. The subject of the certificate names the user and the groups.
func (a *Authority) User(name string, groups ...string) (Identity, error) {
	id, err := a.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Identity{}, fmt.Errorf("issuing the certificate of user %s: %w", name, err)
	}
	return id, nil
}

// issue makes a key and signs a certificate for it. If the template has no NotAfter, issue sets the validity period.
func (a *Authority) issue(template x509.Certificate) (Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Identity{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Identity{}, err
	}
	template.SerialNumber = serial
	template.KeyUsage = x509.KeyUsageDigitalSignature
	if template.NotAfter.IsZero() {
		// The certificate must remain valid if the clock is set back a little.
		template.NotBefore = time.Now().Add(-time.Hour)
		template.NotAfter = template.NotBefore.Add(lifetime)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Identity{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Certificate: encodeCertificate(raw), Key: keyPEM}, nil
}

func encodeCertificate(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: raw})
}

// WriteKubeconfig writes a kubeconfig file with a new client certificate for the user and the groups. server is the URL of the API
// server.
func (a *Authority) WriteKubeconfig(path, server, user string, groups ...string) error {
	id, err := a.User(user, groups...)
	if err != nil {
		return err
	}
	const cluster = "cluster"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: a.pem}
	kubeconfig.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: id.Certificate, ClientKeyData: id.Key,
	}
	kubeconfig.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	kubeconfig.CurrentContext = cluster
	return clientcmd.WriteToFile(*kubeconfig, path)
}
