// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Keys of a Secret of the type kubernetes.io/tls, which are also the names of the files that memcached reads.
const (
	certificateKey = "tls.crt"
	privateKeyKey  = "tls.key"
	authoritiesKey = "ca.crt"
)

// ofTLSSecret completes the messages that name a key.
const ofTLSSecret = " in the Secret of spec.tls.secretName"

// minRSABits is what OpenSSL accepts at its default security level, at which memcached runs.
const minRSABits = 2048

// certificateFiles returns the files that memcached reads of a Secret, without a look at their content.
func certificateFiles(secret map[string][]byte, clientCA bool) (map[string][]byte, error) {
	if len(secret[certificateKey]) == 0 && len(secret[privateKeyKey]) == 0 {
		return nil, invalidCertificate("the Secret of spec.tls.secretName does not exist, or has neither tls.crt nor tls.key: create it " +
			"with the type kubernetes.io/tls")
	}
	files := map[string][]byte{}
	wanted := map[string]string{
		certificateKey: "add the certificate of the server as PEM",
		privateKeyKey:  "add the private key of the server as PEM",
	}
	if clientCA {
		wanted[authoritiesKey] = "add the certificates of the CAs of the clients as PEM, or set spec.tls.clientAuth to None"
	}
	for _, key := range []string{certificateKey, privateKeyKey, authoritiesKey} {
		fix, isWanted := wanted[key]
		if !isWanted {
			continue
		}
		if len(secret[key]) == 0 {
			return nil, invalidCertificate(key + " is missing or empty" + ofTLSSecret + ": " + fix)
		}
		files[key] = secret[key]
	}
	return files, nil
}

// parsePair returns the certificate of the server after it has checked that the key fits.
func parsePair(chain, key []byte) (*x509.Certificate, error) {
	certificates, err := parseCertificates(certificateKey, chain)
	if err != nil {
		return nil, err
	}
	if err := checkStrength(certificates[0]); err != nil {
		return nil, err
	}
	private, err := parsePrivateKey(key)
	if err != nil {
		return nil, err
	}
	public, known := private.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !known || !public.Equal(certificates[0].PublicKey) {
		return nil, invalidCertificate("tls.key does not fit the first certificate in tls.crt: store the key with which that certificate " +
			"was requested, and the certificate of the server before those of its CAs")
	}
	return certificates[0], nil
}

// parseCertificates returns the certificates in PEM, at least one.
func parseCertificates(key string, text []byte) ([]*x509.Certificate, error) {
	var certificates []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, invalidCertificate(fmt.Sprintf("certificate %d in %s is damaged: store it anew", len(certificates)+1, key))
		}
		certificates = append(certificates, certificate)
	}
	if len(certificates) == 0 {
		return nil, invalidCertificate(key + " holds no certificate: it must have a PEM block CERTIFICATE")
	}
	return certificates, nil
}

// checkStrength refuses a key that OpenSSL refuses: memcached would not start.
func checkStrength(certificate *x509.Certificate) error {
	if public, isRSA := certificate.PublicKey.(*rsa.PublicKey); isRSA && public.N.BitLen() < minRSABits {
		return invalidCertificate(fmt.Sprintf("the RSA key of the certificate in tls.crt is shorter than %d bits, which memcached refuses: "+
			"issue the certificate with a longer one", minRSABits))
	}
	return nil
}

func parsePrivateKey(text []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue // such as EC PARAMETERS
		}
		key, err := decodePrivateKey(block.Bytes)
		if err != nil {
			return nil, invalidCertificate("tls.key cannot be read: store an RSA, ECDSA or Ed25519 key without a passphrase")
		}
		return key, nil
	}
	return nil, invalidCertificate("tls.key holds no private key: it must have a PEM block PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY")
}

// errUnknownKey is never shown: parsePrivateKey has words for it.
var errUnknownKey = errors.New("unknown kind of key")

func decodePrivateKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return key, nil
	case *ecdsa.PrivateKey:
		return key, nil
	case ed25519.PrivateKey:
		return key, nil
	}
	return nil, errUnknownKey
}

// checkValidity refuses a certificate that clients would refuse because of the time.
func checkValidity(certificate *x509.Certificate, now time.Time) error {
	switch {
	case now.After(certificate.NotAfter):
		return invalidCertificate("the certificate in tls.crt has expired: renew it")
	case now.Before(certificate.NotBefore):
		return invalidCertificate("the certificate in tls.crt is not valid yet: wait, or check the clocks of the cluster nodes")
	}
	return nil
}
