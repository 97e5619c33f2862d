// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// state is what the parent keeps in a file that outlives the container.
type state struct {
	// Accepted is the last entry that was in effect. The parent goes back to it if memcached fails with a new one. Before the first entry,
	// it has the number 0 and the list of the pod's first start.
	Accepted protocol.Entry `json:"accepted"`
	// Refused is the last entry that was refused, or nil, and RefusedList its list. It is cleared once another entry is in effect.
	Refused     *protocol.Refusal `json:"refused,omitempty"`
	RefusedList protocol.List     `json:"refusedList,omitzero"`
	// Version is the version of the memcached that wrote the file with the items.
	Version string `json:"version,omitempty"`
}

const stateFile = "state.json"

// loadState reads the state from its file. The state is empty if there is no file, or if an error is returned.
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

// refuses reports whether an entry is the one that was refused.
func (s state) refuses(entry protocol.Entry) bool {
	return s.Refused != nil && s.Refused.Number == entry.Number && s.RefusedList == entry.List
}

// isSame reports whether two entries are the same. Their numbers alone do not tell: after a loss of the ConfigMap, they begin at 1 again.
func isSame(a, b protocol.Entry) bool { return a.Number == b.Number && a.List == b.List }

func (s state) save(folder string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(folder, stateFile), string(text))
}

// replaceFile replaces a file atomically. If the new text cannot be written, the file stays as it was.
func replaceFile(file, text string) error {
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
