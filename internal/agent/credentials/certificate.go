// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
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

// Keys of a Secret of the type kubernetes.io/tls. The files for memcached have the same names.
const (
	certificateKey = "tls.crt"
	privateKeyKey  = "tls.key"
	authoritiesKey = "ca.crt"
)

const ofTLSSecret = " in the Secret of spec.tls.secretName"

// minRSABits is the length of the shortest RSA key that OpenSSL accepts at its default security level, which memcached uses.
const minRSABits = 2048

// certificateFiles returns those values of a Secret that memcached reads, by key. It returns an error if one of them is missing or
// empty. It does not parse the values.
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

// parsePair returns the server's certificate: the first in the chain. It returns an error if memcached could not serve with the chain
// and the key.
func parsePair(chain, key []byte) (*x509.Certificate, error) {
	certificates, err := parseCertificates(certificateKey, chain)
	if err != nil {
		return nil, err
	}
	for i, certificate := range certificates {
		if err := checkStrength(i+1, certificate); err != nil {
			return nil, err
		}
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

// parseCertificates parses the certificates in a value of a Secret. Errors name the value by its key. Without an error, there is at
// least one certificate.
func parseCertificates(key string, text []byte) ([]*x509.Certificate, error) {
	blocks, err := parseBlocks(key, text)
	if err != nil {
		return nil, err
	}
	var certificates []*x509.Certificate
	for i, block := range blocks {
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			// Skipping the block would be wrong: OpenSSL also trusts certificates in blocks with other labels, such as TRUSTED CERTIFICATE.
			return nil, invalidCertificate(key + " holds something else than certificates: leave only its PEM blocks CERTIFICATE, without headers")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, invalidCertificate(fmt.Sprintf("certificate %d in %s cannot be parsed: replace it by a valid PEM certificate", i+1, key))
		}
		certificates = append(certificates, certificate)
	}
	if len(certificates) == 0 {
		return nil, invalidCertificate(key + " holds no certificate: it must have a PEM block CERTIFICATE")
	}
	return certificates, nil
}

// checkStrength returns an error if the RSA key or the signature of a certificate is too weak for OpenSSL's default security level,
// because memcached would not start with the certificate. Some versions of OpenSSL accept weak signatures, but clients do not.
func checkStrength(number int, certificate *x509.Certificate) error {
	if public, isRSA := certificate.PublicKey.(*rsa.PublicKey); isRSA && public.N.BitLen() < minRSABits {
		return invalidCertificate(fmt.Sprintf("the RSA key of certificate %d in tls.crt is shorter than %d bits, which memcached refuses: "+
			"issue the certificate with a longer one", number, minRSABits))
	}
	switch certificate.SignatureAlgorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		if !selfSigned(certificate) {
			return invalidCertificate(fmt.Sprintf("certificate %d in tls.crt is signed with SHA-1 or MD5, which memcached may refuse: issue it "+
				"again with SHA-256", number))
		}
	default: // all other algorithms are strong enough
	}
	return nil
}

// selfSigned reports whether a certificate names itself as its issuer. OpenSSL does not check the strength of the signature of such
// a certificate.
func selfSigned(certificate *x509.Certificate) bool {
	return bytes.Equal(certificate.RawSubject, certificate.RawIssuer) &&
		(len(certificate.AuthorityKeyId) == 0 || bytes.Equal(certificate.AuthorityKeyId, certificate.SubjectKeyId))
}

func parsePrivateKey(text []byte) (crypto.Signer, error) {
	blocks, err := parseBlocks(privateKeyKey, text)
	if err != nil {
		return nil, err
	}
	for _, block := range blocks {
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue // such as EC PARAMETERS
		}
		key, err := decodePrivateKey(block)
		if err != nil {
			return nil, invalidCertificate("tls.key cannot be read: store an RSA, ECDSA or Ed25519 key without a passphrase, in a PEM block " +
				"PRIVATE KEY if it is PKCS #8, RSA PRIVATE KEY if it is PKCS #1, and EC PRIVATE KEY if it is SEC 1")
		}
		return key, nil
	}
	return nil, invalidCertificate("tls.key holds no private key: it must have a PEM block PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY")
}

// errUnknownKey is never shown to users: parsePrivateKey replaces it.
var errUnknownKey = errors.New("unknown algorithm of the key")

// decodePrivateKey decodes a key as OpenSSL does: in the format that the label of the PEM block names, or else as PKCS #8.
func decodePrivateKey(block *pem.Block) (crypto.Signer, error) {
	if len(block.Headers) > 0 {
		return nil, errUnknownKey // the key needs a passphrase
	}
	switch block.Type {
	case "RSA PRIVATE KEY":
		if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
			return key, nil
		}
	case "EC PRIVATE KEY":
		if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return key, nil
		}
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return key, checkLabel(block, "RSA PRIVATE KEY")
	case *ecdsa.PrivateKey:
		return key, checkLabel(block, "EC PRIVATE KEY")
	case ed25519.PrivateKey:
		return key, checkLabel(block, "PRIVATE KEY")
	}
	return nil, errUnknownKey
}

// checkLabel checks the label of a PEM block with a PKCS #8 key. Valid labels are "PRIVATE KEY" and the given label, which is for the
// algorithm of the key.
func checkLabel(block *pem.Block, label string) error {
	if block.Type != "PRIVATE KEY" && block.Type != label {
		return errUnknownKey
	}
	return nil
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

var blockBegin = []byte("-----BEGIN ")

// parseBlocks returns the PEM blocks of a text. It returns an error if a block is malformed. Go's parser would skip that block, but
// memcached's OpenSSL does not: memcached would not start, or would refuse every client.
func parseBlocks(key string, text []byte) ([]*pem.Block, error) {
	invalid := invalidCertificate("a PEM block in " + key + " is invalid, contains a blank line, or does not begin on a line of its own: " +
		"replace it by a valid PEM file")
	var blocks []*pem.Block
	left := text
	for block, rest := pem.Decode(left); block != nil; block, rest = pem.Decode(left) {
		if len(block.Headers) == 0 && hasBlankLine(left[:len(left)-len(rest)]) {
			return nil, invalid
		}
		blocks, left = append(blocks, block), rest
	}
	if len(blocks) != bytes.Count(text, blockBegin) {
		return nil, invalid
	}
	return blocks, nil
}

// hasBlankLine reports whether a PEM block contains a blank line. OpenSSL would read the lines before the blank line as headers.
func hasBlankLine(text []byte) bool {
	_, block, _ := bytes.Cut(text, blockBegin)
	for line := range bytes.Lines(bytes.TrimSpace(block)) {
		if len(bytes.TrimSpace(line)) == 0 {
			return true
		}
	}
	return false
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
