// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// dataLink is the symbolic link in a Secret's volume that the kubelet replaces when the Secret has changed.
const dataLink = "..data"

// maxBytes limits the size of a version, so that two versions fit on the volume of 1 MiB that memcached reads.
const maxBytes = 384 << 10

// maxReads is how often the agent tries to read a Secret that changes during each read.
const maxReads = 5

var errChanging = errors.New("the Secret changed during each of several reads: the agent tries again")

// secrets are the values of the Secret with the certificate and of the Secret with the users, by key.
type secrets struct{ certificate, users map[string][]byte }

// fingerprint returns a fingerprint of the keys and values.
func (s secrets) fingerprint() string {
	var text bytes.Buffer
	for number, secret := range []map[string][]byte{s.certificate, s.users} {
		for _, key := range slices.Sorted(maps.Keys(secret)) {
			text.WriteString(strconv.Itoa(number) + key + "\x00" + strconv.Itoa(len(secret[key])) + "\x00")
			text.Write(secret[key])
		}
	}
	return fingerprint(text.Bytes())
}

// readSecrets reads both Secrets. Its error is an *InvalidError.
func readSecrets(c Config) (found secrets, err error) {
	if c.TLSSecret != "" {
		if found.certificate, err = readSecret(c.TLSSecret); err != nil {
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

func fingerprint(of []byte) string {
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:])
}

// readSecret returns the values of a Secret by key, all from the same version of the Secret. It returns no values if the Secret does not
// exist: the volume is optional, and empty without the Secret.
func readSecret(folder string) (map[string][]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	for range maxReads {
		version, err := dataOf(root)
		if err != nil {
			return nil, err
		}
		values, readErr := readValues(root, version)
		if again, err := dataOf(root); err != nil || again != version {
			continue
		}
		return values, readErr
	}
	return nil, errChanging
}

// dataOf returns the directory in the volume that contains the current values. Without the kubelet's link, that is the volume itself.
func dataOf(root *os.Root) (string, error) {
	version, err := root.Readlink(dataLink)
	if errors.Is(err, fs.ErrNotExist) {
		return ".", nil
	}
	return version, err
}

func readValues(root *os.Root, version string) (map[string][]byte, error) {
	entries, err := fs.ReadDir(root.FS(), version)
	if err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		value, err := readValue(root, path.Join(version, entry.Name()))
		if err != nil {
			return nil, err
		}
		values[entry.Name()] = value
	}
	return values, nil
}

// readValue reads at most one byte more than maxBytes, to save memory. The agent refuses a value of that size later.
func readValue(root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // the file was only read
	value, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return value, nil
}
