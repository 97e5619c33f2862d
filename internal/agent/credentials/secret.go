// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// dataLink is the link that the kubelet swaps when a Secret has changed.
const dataLink = "..data"

// maxReads limits the attempts to read a Secret that changes meanwhile.
const maxReads = 5

var errChanging = errors.New("the Secret changed during each of several reads: the agent tries again")

// readSecret returns the values of a Secret by key, all of the same version. For a Secret that does not exist it returns none, because
// the volume is optional.
func readSecret(folder string) (map[string][]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
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

// dataOf returns the folder with the current version. A folder that no kubelet has made has no versions.
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

// readValue stops one byte after the limit, at which the value is refused: the agent has little memory.
func readValue(root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	value, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return value, file.Close()
}
