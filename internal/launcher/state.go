// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// state is what must outlive the container: what memcached has accepted and refused.
type state struct {
	// Accepted is the text of the list that memcached last ran with. Empty before the first start.
	Accepted string `json:"accepted"`
	// Refused is the last list that was not accepted, if it came after the accepted one.
	Refused *protocol.Refusal `json:"refused,omitempty"`
	// Version is that of the memcached that has written the file with items.
	Version string `json:"version,omitempty"`
}

const stateFile = "state.json"

// loadState returns an empty state if there is none, or if it cannot be read: the ConfigMap then decides as at the first start.
func loadState(folder string) (state, error) {
	text, err := os.ReadFile(filepath.Join(folder, stateFile)) //nolint:gosec // of a flag
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	var loaded state
	if err := json.Unmarshal(text, &loaded); err != nil {
		return state{}, err
	}
	return loaded, nil
}

// accepted is the list that memcached last ran with.
func (s state) accepted() (list protocol.List, found bool) {
	if s.Accepted == "" {
		return protocol.List{}, false
	}
	list, err := protocol.ParseList(s.Accepted)
	return list, err == nil
}

func (s state) refuses(hash string) bool { return s.Refused != nil && s.Refused.Hash == hash }

// save replaces the file at once, so that a reader never finds half of it.
func (s state) save(folder string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	file := filepath.Join(folder, stateFile)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
