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
	return serial(c.certificate)
}

// parseContent builds content from the Secrets. Its error is an *InvalidError.
func parseContent(c Config, found secrets) (*content, error) {
	pair, err := certificateContent(c, found.certificate)
	if err != nil {
		return nil, err
	}
	users, err := usersContent(c, found.users)
	if err != nil {
		return nil, err
	}
	return pair.with(users), nil
}

// certificateContent builds content from the Secret with the certificate. The content has no users.
func certificateContent(c Config, secret map[string][]byte) (*content, error) {
	part := &content{files: map[string][]byte{}}
	if c.TLSSecret == "" {
		return part, nil
	}
	err := part.addCertificate(secret, c.ClientCA)
	return part, err
}

// usersContent builds content from the Secret with the users. The content has neither a certificate nor CAs.
func usersContent(c Config, secret map[string][]byte) (*content, error) {
	part := &content{files: map[string][]byte{}}
	if c.UsersSecret == "" {
		return part, nil
	}
	users, err := parseUsers(secret)
	if err == nil {
		part.users, part.files[usersFile] = users, encodeUsers(users)
	}
	return part, err
}

// with returns content that has the certificate and the CAs of c, and the users of the argument.
func (c *content) with(users *content) *content {
	both := &content{files: maps.Clone(c.files), certificate: c.certificate, authorities: c.authorities, users: users.users}
	delete(both.files, usersFile)
	if lines, found := users.files[usersFile]; found {
		both.files[usersFile] = lines
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

func (c *content) addCertificate(secret map[string][]byte, clientCA bool) error {
	files, err := certificateFiles(secret, clientCA)
	if err != nil {
		return err
	}
	size := 0
	for key, content := range files {
		c.files[key] = content
		size += len(content)
	}
	if size > maxBytes {
		return invalidCertificate("tls.crt, tls.key and ca.crt are too large together: leave out CAs that have no clients")
	}
	if c.certificate, err = parsePair(files[certificateKey], files[privateKeyKey]); err != nil || !clientCA {
		return err
	}
	authorities, err := parseCertificates(authoritiesKey, files[authoritiesKey])
	for _, authority := range authorities {
		c.authorities = append(c.authorities, fingerprint(authority.Raw))
	}
	return err
}
