// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"maps"
	"slices"
)

// Config has the flags about credentials.
type Config struct {
	// TLSSecret is the folder of the Secret with the certificate, empty without TLS.
	TLSSecret string
	// TLS is the address on which memcached serves TLS.
	TLS string
	// ClientCA is true if clients need a certificate of a CA in the Secret.
	ClientCA bool
	// UsersSecret is the folder of the Secret with the users, empty without users.
	UsersSecret string
	// RestartForAuthorities and RestartForUsers are true if the agent restarts memcached when a CA, or a user, was removed.
	RestartForAuthorities, RestartForUsers bool
	// Servers is a file with the addresses of all nodes, separated by commas. Restarts begin with the last one.
	Servers string
	// AgentPort is the port of the agents.
	AgentPort string
	// Folder is where memcached reads its files.
	Folder string
	// TerminationLog is the file of the container's termination message.
	TerminationLog string
	// Processes is the folder with the processes of the pod, /proc if it is empty.
	Processes string
}

// Enabled reports whether memcached has TLS or users.
func (c Config) Enabled() bool { return c.TLSSecret != "" || c.UsersSecret != "" }

// Restarts reports whether the agent restarts memcached at all.
func (c Config) Restarts() bool { return c.RestartForAuthorities || c.RestartForUsers }

// restarts are none yet, for each reason that there can be.
func (c Config) restarts() map[string]int {
	counts := map[string]int{}
	if c.RestartForAuthorities {
		counts[ReasonCARemoved] = 0
	}
	if c.RestartForUsers {
		counts[ReasonUserRemoved] = 0
	}
	return counts
}

// maxBytes limits the files of a generation, so that two generations fit into the volume of 1 MiB.
const maxBytes = 384 << 10

// generation is one version of all files that memcached reads. They are valid and match each other. (It is unrelated to
// metadata.generation.)
type generation struct {
	files map[string][]byte
	// certificate is nil without TLS.
	certificate *x509.Certificate
	// authorities are the fingerprints of the CAs in ca.crt.
	authorities []string
	users       []User
}

func (g *generation) equal(other *generation) bool {
	return other != nil && maps.EqualFunc(g.files, other.files, bytes.Equal)
}

// key is the same on all nodes with the same content. It cannot be guessed without knowing all of the content.
func (g *generation) key() string { return fingerprintOf([secretCount]map[string][]byte{g.files}) }

// kind is the algorithm of the certificate's key.
func (g *generation) kind() string { return g.certificate.PublicKeyAlgorithm.String() }

// logins returns a fingerprint for each user with its password.
func (g *generation) logins() []string {
	var logins []string
	for _, user := range g.users {
		logins = append(logins, fingerprint([]byte(user.line())))
	}
	return logins
}

// without returns the users that another generation lacks, or has with another password.
func (g *generation) without(other *generation) []User {
	return slices.DeleteFunc(slices.Clone(g.users), func(user User) bool { return slices.Contains(other.users, user) })
}

func fingerprint(of []byte) string {
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:])
}

// generationOf makes a generation from the Secrets. The error is an *InvalidError.
func generationOf(c Config, tlsSecret, usersSecret map[string][]byte) (*generation, error) {
	pair, err := certificateGeneration(c, tlsSecret)
	if err != nil {
		return nil, err
	}
	users, err := usersGeneration(c, usersSecret)
	if err != nil {
		return nil, err
	}
	return pair.with(users), nil
}

// certificateGeneration has no users.
func certificateGeneration(c Config, secret map[string][]byte) (*generation, error) {
	g := &generation{files: map[string][]byte{}}
	if c.TLSSecret == "" {
		return g, nil
	}
	err := g.addCertificate(secret, c.ClientCA)
	return g, err
}

// usersGeneration has no certificate.
func usersGeneration(c Config, secret map[string][]byte) (*generation, error) {
	g := &generation{files: map[string][]byte{}}
	if c.UsersSecret == "" {
		return g, nil
	}
	users, err := parseUsers(secret)
	if err == nil {
		g.users, g.files[usersFile] = users, encodeUsers(users)
	}
	return g, err
}

// with returns a generation with the certificate of this one and the users of another.
func (g *generation) with(users *generation) *generation {
	both := &generation{files: maps.Clone(g.files), certificate: g.certificate, authorities: g.authorities, users: users.users}
	delete(both.files, usersFile)
	if lines, found := users.files[usersFile]; found {
		both.files[usersFile] = lines
	}
	return both
}

// parseGeneration parses the files of a generation. The error is an *InvalidError.
func parseGeneration(c Config, files map[string][]byte) (*generation, error) {
	users := map[string][]byte{}
	for _, user := range decodeUsers(files[usersFile]) {
		users[user.name] = []byte(user.password)
	}
	return generationOf(c, files, users)
}

func (g *generation) addCertificate(secret map[string][]byte, clientCA bool) error {
	files, err := certificateFiles(secret, clientCA)
	if err != nil {
		return err
	}
	size := 0
	for key, content := range files {
		g.files[key] = content
		size += len(content)
	}
	if size > maxBytes {
		return invalidCertificate("tls.crt, tls.key and ca.crt are too large together: leave out CAs that have no clients")
	}
	if g.certificate, err = parsePair(files[certificateKey], files[privateKeyKey]); err != nil || !clientCA {
		return err
	}
	authorities, err := parseCertificates(authoritiesKey, files[authoritiesKey])
	for _, authority := range authorities {
		g.authorities = append(g.authorities, fingerprint(authority.Raw))
	}
	return err
}
