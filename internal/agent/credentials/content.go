// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/x509"
	"maps"
	"slices"
)

// content is a set of files for memcached, and what the agent knows about them. The files are valid and match each other.
type content struct {
	files map[string][]byte
	// certificate is nil without TLS.
	certificate *x509.Certificate
	// authorities are the fingerprints of the CAs in ca.crt.
	authorities []string
	users       []User
}

func (c *content) equal(other *content) bool {
	return other != nil && maps.EqualFunc(c.files, other.files, bytes.Equal)
}

// algorithms returns the algorithm of the certificate's key, or none without TLS.
func (c *content) algorithms() []string {
	if c.certificate == nil {
		return nil
	}
	return []string{algorithm(c.certificate)}
}

func algorithm(certificate *x509.Certificate) string { return certificate.PublicKeyAlgorithm.String() }

// logins returns a fingerprint of the name and password of each user.
func (c *content) logins() []string {
	var logins []string
	for _, user := range c.users {
		logins = append(logins, fingerprint([]byte(user.line())))
	}
	return logins
}

// without returns the users of c that the other content does not have, or has with another password.
func (c *content) without(other *content) []User {
	return slices.DeleteFunc(slices.Clone(c.users), func(user User) bool { return slices.Contains(other.users, user) })
}

// serial returns the certificate's serial number, empty without TLS.
func (c *content) serial() string {
	if c.certificate == nil {
		return ""
	}
	return Serial(c.certificate)
}

// parseContent builds content from the Secrets. Its error is an *InvalidError.
func parseContent(c Config, found secrets) (*content, error) {
	pair, err := certificateContent(c, found.certificate)
	if err != nil {
		return nil, err
	}
	users, err := usersOf(c, found.users)
	return pair.with(users), err
}

// certificateContent builds content from the Secret with the certificate. The content has no users.
func certificateContent(c Config, secret map[string][]byte) (*content, error) {
	if c.TLSSecret == "" {
		return &content{}, nil
	}
	files, err := certificateFiles(secret, c.ClientCA)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, value := range files {
		size += len(value)
	}
	if size > maxBytes {
		return nil, invalidCertificate("tls.crt, tls.key and ca.crt are too large together: leave out CAs that have no clients")
	}
	part := &content{files: files}
	if part.certificate, err = parsePair(files[certificateKey], files[privateKeyKey]); err != nil || !c.ClientCA {
		return part, err
	}
	authorities, err := parseCertificates(authoritiesKey, files[authoritiesKey])
	for _, authority := range authorities {
		part.authorities = append(part.authorities, fingerprint(authority.Raw))
	}
	return part, err
}

// usersOf returns the users in the Secret with the users, or none if memcached has none.
func usersOf(c Config, secret map[string][]byte) ([]User, error) {
	if c.UsersSecret == "" {
		return nil, nil
	}
	return parseUsers(secret)
}

// with returns content that has the certificate and the CAs of c, and these users.
func (c *content) with(users []User) *content {
	both := &content{files: map[string][]byte{}, certificate: c.certificate, authorities: c.authorities, users: users}
	maps.Copy(both.files, c.files)
	delete(both.files, usersFile)
	if len(users) > 0 {
		both.files[usersFile] = encodeUsers(users)
	}
	return both
}

// parseFiles builds content from files that the agent has written. Its error is an *InvalidError.
func parseFiles(c Config, files map[string][]byte) (*content, error) {
	users := map[string][]byte{}
	for _, user := range decodeUsers(files[usersFile]) {
		users[user.name] = []byte(user.password)
	}
	return parseContent(c, secrets{certificate: files, users: users})
}
