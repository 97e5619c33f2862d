// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// source reads the ConfigMap with the arguments, which the kubelet delivers as files. The ConfigMap is optional.
type source struct {
	// pod is the UID of the pod.
	folder, name, pod string
	items             items
}

// entry returns the entry for this pod, or nil if there is none. An error with an entry is why the entry cannot be used. An error without
// an entry is why nobody can tell whether there is one.
func (s source) entry() (*protocol.Entry, error) {
	text, err := s.read(s.name)
	if err != nil || text == "" {
		return nil, err
	}
	entry, err := protocol.ParseEntry(text)
	switch {
	case entry.Pod == "":
		return nil, err
	case entry.Pod != s.pod:
		return nil, nil
	case err == nil:
		err = s.items.checkVolume(entry.List)
	}
	return &entry, err
}

// maxText bounds the text of a file, because the parent has little memory.
const maxText = 8 << 10

// read returns the text of a file, which is empty if there is no file.
func (s source) read(key string) (string, error) {
	file, err := os.Open(filepath.Join(s.folder, key)) //nolint:gosec // of a flag
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxText+1))
	if len(text) > maxText {
		err = fmt.Errorf("%w: %s has more than %d bytes", protocol.ErrNotOurs, key, maxText)
	}
	return string(text), err
}
