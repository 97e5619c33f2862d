// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"io/fs"
	"os"
	"path"
	"strings"
)

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
