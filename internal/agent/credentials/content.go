// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// content is what memcached reads. It is good: memcached starts with it. It is never changed.
type content struct {
	// pair is nil without TLS.
	pair *pair
	// users are sorted by name. There are none if memcached demands no login.
	users []User
}

// check returns the good content of the Secrets, and why a Secret cannot be used, as an *InvalidError. In the place of that Secret,
// the content has what the current content has. Without current content, check returns no content then.
func check(c Config, found secrets, current *content, now time.Time) (*content, error) {
	next := &content{}
	var ofPair, ofUsers error
	if c.TLSSecret != "" {
		next.pair, ofPair = parsePair(found.tls, c.ClientCA)
		// The dates of the current certificate are not checked again: even if it has expired, a change of the users must still take effect.
		if ofPair == nil && (current == nil || !next.pair.certificate.Equal(current.pair.certificate)) {
			ofPair = checkValidity(next.pair.certificate, now)
		}
	}
	if c.UsersSecret != "" {
		next.users, ofUsers = parseUsers(found.users)
	}
	err := cmp.Or(ofPair, ofUsers)
	if err != nil && current == nil {
		return nil, err
	}
	if ofPair != nil {
		next.pair = current.pair
	}
	if ofUsers != nil {
		next.users = current.users
	}
	return next, err
}

// files returns the files that memcached reads, by name.
func (c *content) files() map[string][]byte {
	files := map[string][]byte{}
	if c.pair != nil {
		maps.Copy(files, c.pair.files)
	}
	if len(c.users) > 0 {
		files[usersFile] = encodeUsers(c.users)
	}
	return files
}

func (c *content) equal(other *content) bool {
	return other != nil && maps.EqualFunc(c.files(), other.files(), bytes.Equal)
}

// without returns the users of c that the other content does not have, or has with another password.
func (c *content) without(other *content) []User {
	if c == nil {
		return nil
	}
	return missing(c.users, other.users)
}

// missing returns the elements of a list that another list lacks.
func missing[T comparable](of, in []T) []T {
	return slices.DeleteFunc(slices.Clone(of), func(one T) bool { return slices.Contains(in, one) })
}

// removed returns why a memcached that has read c must restart if next replaces it.
func (c *content) removed(next *content) (reasons []string) {
	if c != nil && c.pair != nil {
		if len(missing(c.pair.authorities, next.pair.authorities)) > 0 {
			reasons = append(reasons, ReasonCARemoved)
		}
		if c.pair.certificate.PublicKeyAlgorithm != next.pair.certificate.PublicKeyAlgorithm {
			reasons = append(reasons, ReasonCertificateRemoved)
		}
	}
	if len(c.without(next)) > 0 {
		reasons = append(reasons, ReasonUserRemoved)
	}
	return reasons
}

// secrets are the values of the Secret with the certificate and of the Secret with the users, by key.
type secrets struct{ tls, users map[string][]byte }

// readSecrets reads both Secrets. Its error is an *InvalidError.
func readSecrets(c Config) (found secrets, err error) {
	if c.TLSSecret != "" {
		if found.tls, err = readSecret(c.TLSSecret); err != nil {
			return found, invalidCertificate("the Secret of spec.tls.secretName cannot be read: " + err.Error())
		}
	}
	if c.UsersSecret != "" {
		if found.users, err = readSecret(c.UsersSecret); err != nil {
			return found, invalidUsers("the Secret of spec.auth.secretName cannot be read: " + err.Error())
		}
	}
	return found, nil
}

// readSecret returns the values of a Secret by key, all from the same version of the Secret. It returns no values if the Secret does not
// exist: the volume is optional, and empty without the Secret.
func readSecret(folder string) (map[string][]byte, error) {
	volume := os.DirFS(folder)
	for {
		version := dataOf(volume)
		values, err := readValues(volume, version)
		if dataOf(volume) == version {
			return values, err
		}
	}
}

// dataOf returns the folder in the volume that has the current values. The kubelet names it with a link, which it replaces when the Secret
// has changed. Without that link, it is the volume itself.
func dataOf(volume fs.FS) string {
	version, err := fs.ReadLink(volume, "..data")
	if err != nil {
		return "."
	}
	return version
}

func readValues(volume fs.FS, folder string) (map[string][]byte, error) {
	entries, err := fs.ReadDir(volume, folder)
	if err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		if values[entry.Name()], err = fs.ReadFile(volume, path.Join(folder, entry.Name())); err != nil {
			return nil, err
		}
	}
	return values, nil
}
