// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Keys of a Secret of the type kubernetes.io/tls. The files for memcached have the same names.
const (
	certificateKey = "tls.crt"
	privateKeyKey  = "tls.key"
	authoritiesKey = "ca.crt"
)

const (
	// maxBytes limits what is parsed, and the size of the files: they must fit twice on the volume of 1 MiB that memcached reads.
	maxBytes = 384 << 10
	// minRSABits is the length of the shortest RSA key that OpenSSL accepts at its default security level, which memcached uses.
	minRSABits = 2048
)

// pair is a certificate with its key, and the CAs of the clients.
type pair struct {
	// files are what memcached reads, by name. The agent encodes them itself, so OpenSSL, which reads PEM more strictly than Go, can read
	// whatever Go could.
	files       map[string][]byte
	certificate *x509.Certificate
	// authorities are the CAs, as they are encoded in their certificates.
	authorities []string
}

// parsePair returns the pair in a Secret. Its error is an *InvalidError.
func parsePair(secret map[string][]byte, clientCA bool) (*pair, error) {
	if err := checkKeys(secret, clientCA); err != nil {
		return nil, err
	}
	chain, err := parseCertificates(certificateKey, secret[certificateKey])
	if err != nil {
		return nil, err
	}
	for i, certificate := range chain {
		if err := checkStrength(i+1, certificate); err != nil {
			return nil, err
		}
	}
	p := &pair{certificate: chain[0], files: map[string][]byte{certificateKey: encodeCertificates(chain)}}
	private, err := tls.X509KeyPair(p.files[certificateKey], secret[privateKeyKey])
	if err != nil {
		return nil, invalidCertificate("tls.key does not fit the first certificate in tls.crt, or is no RSA, ECDSA or Ed25519 key in PEM " +
			"without a passphrase: store the key with which that certificate was requested, and the certificate of the server before its CAs")
	}
	der, err := x509.MarshalPKCS8PrivateKey(private.PrivateKey)
	if err != nil {
		return nil, err
	}
	p.files[privateKeyKey] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if !clientCA {
		return p, nil
	}
	authorities, err := parseCertificates(authoritiesKey, secret[authoritiesKey])
	p.files[authoritiesKey] = encodeCertificates(authorities)
	for _, authority := range authorities {
		p.authorities = append(p.authorities, string(authority.Raw))
	}
	return p, err
}

// checkKeys returns an error if a Secret lacks a value that memcached needs, or if the values are too large.
func checkKeys(secret map[string][]byte, clientCA bool) error {
	if len(secret[certificateKey]) == 0 && len(secret[privateKeyKey]) == 0 {
		return invalidCertificate("the Secret of spec.tls.secretName does not exist, or has neither tls.crt nor tls.key: create it " +
			"with the type kubernetes.io/tls")
	}
	fixes := map[string]string{certificateKey: "add the certificate of the server as PEM", privateKeyKey: "add its private key as PEM"}
	if clientCA {
		fixes[authoritiesKey] = "add the certificates of the CAs of the clients as PEM, or set spec.tls.clientAuth to None"
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(fixes)) {
		if len(secret[key]) == 0 {
			return invalidCertificate(key + " is missing or empty in the Secret of spec.tls.secretName: " + fixes[key])
		}
		size += len(secret[key])
	}
	if size > maxBytes {
		return invalidCertificate("tls.crt, tls.key and ca.crt are too large together: leave out CAs that have no clients")
	}
	return nil
}

// parseCertificates parses the certificates in a value of a Secret. Errors name the value by its key. Without an error, there is at
// least one certificate. A malformed PEM block is an error, although Go's parser skips it.
func parseCertificates(key string, text []byte) (certificates []*x509.Certificate, _ error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, invalidCertificate(key + " holds something else than certificates: leave only its PEM blocks CERTIFICATE")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, invalidCertificate(fmt.Sprintf("certificate %d in %s cannot be parsed: replace it by a valid PEM certificate",
				len(certificates)+1, key))
		}
		certificates = append(certificates, certificate)
	}
	if len(certificates) != bytes.Count(text, []byte("-----BEGIN ")) {
		return nil, invalidCertificate("a PEM block in " + key + " is invalid, or does not begin on a line of its own: replace it by a " +
			"valid PEM file")
	}
	if len(certificates) == 0 {
		return nil, invalidCertificate(key + " holds no certificate: it must have a PEM block CERTIFICATE")
	}
	return certificates, nil
}

func encodeCertificates(certificates []*x509.Certificate) (text []byte) {
	for _, certificate := range certificates {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return text
}

// checkStrength returns an error if the RSA key or the signature of a certificate is too weak for OpenSSL's default security level,
// because memcached would not start with the certificate. Some versions of OpenSSL accept weak signatures, but clients do not.
func checkStrength(number int, certificate *x509.Certificate) error {
	public, isRSA := certificate.PublicKey.(*rsa.PublicKey)
	weak := []x509.SignatureAlgorithm{x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1}
	switch {
	case isRSA && public.N.BitLen() < minRSABits:
		return invalidCertificate(fmt.Sprintf("the RSA key of certificate %d in tls.crt is shorter than %d bits, which memcached refuses: "+
			"issue the certificate with a longer one", number, minRSABits))
	case slices.Contains(weak, certificate.SignatureAlgorithm) && !selfSigned(certificate):
		return invalidCertificate(fmt.Sprintf("certificate %d in tls.crt is signed with SHA-1 or MD5, which memcached may refuse: issue it "+
			"again with SHA-256", number))
	}
	return nil
}

// selfSigned reports whether a certificate names itself as its issuer. OpenSSL does not check the strength of the signature of such
// a certificate.
func selfSigned(certificate *x509.Certificate) bool {
	return bytes.Equal(certificate.RawSubject, certificate.RawIssuer) &&
		(len(certificate.AuthorityKeyId) == 0 || bytes.Equal(certificate.AuthorityKeyId, certificate.SubjectKeyId))
}

// checkValidity returns an error if a certificate has expired or is not valid yet, because clients would refuse the certificate.
func checkValidity(certificate *x509.Certificate, now time.Time) error {
	switch {
	case now.After(certificate.NotAfter):
		return invalidCertificate("the certificate in tls.crt has expired: renew it")
	case now.Before(certificate.NotBefore):
		return invalidCertificate("the certificate in tls.crt is not valid yet: wait, or check the clocks of the cluster nodes")
	}
	return nil
}

// Serial returns the serial number of a certificate as openssl prints it, but in lower case.
func Serial(certificate *x509.Certificate) string {
	digits := strings.TrimPrefix(certificate.SerialNumber.Text(16), "-")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	return digits
}

// Reasons of an InvalidError. The condition Degraded uses the same reasons.
const (
	ReasonInvalidCertificate = "InvalidCertificate"
	ReasonInvalidCredentials = "InvalidCredentials"
)

// InvalidError is why the content of a Secret cannot be used. The message may contain keys of the Secret, but no values.
type InvalidError struct{ Reason, Message string }

// Error returns the text that the agent writes as its termination message.
func (e *InvalidError) Error() string { return e.Reason + ": " + e.Message }

func invalidCertificate(message string) error {
	return &InvalidError{Reason: ReasonInvalidCertificate, Message: message}
}

func invalidUsers(message string) error {
	return &InvalidError{Reason: ReasonInvalidCredentials, Message: message}
}
