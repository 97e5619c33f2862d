// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Names in the folder that memcached reads.
const (
	currentLink      = "current"
	generationPrefix = "generation-"
	stateFile        = "state.json"
	refusedFile      = "refused"
	// newSuffix ends the name of an incomplete file.
	newSuffix = ".new"
)

// memcached and the agent run as the same user, and only that user may read the files.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// state is what an agent must know about memcached after a restart of its own.
type state struct {
	// Process is the memcached that the agent saw last.
	Process Process `json:"process"`
	// Swapping is true during a swap: a memcached that starts meanwhile may have read either generation.
	Swapping bool `json:"swapping,omitempty"`
	// Pending is true until Process is verified to have read the current generation.
	Pending bool `json:"pending,omitempty"`
	// Previous is the generation before the current one while a reload is pending: memcached may still have its users.
	Previous string `json:"previous,omitempty"`
	// Trusted are the fingerprints of all CAs, and Logins those of all users with their passwords, that Process has read.
	Trusted []string `json:"trusted,omitempty"`
	Logins  []string `json:"logins,omitempty"`
	// Kinds are the algorithms of the keys of all certificates that it has read: it serves the last certificate of each.
	Kinds []string `json:"kinds,omitempty"`
}

// remember adds the content of a generation.
func (s *state) remember(g *generation) {
	if g == nil {
		return
	}
	s.Trusted = remembered(s.Trusted, g.authorities)
	s.Logins = remembered(s.Logins, g.logins())
	if g.certificate != nil {
		s.Kinds = union(s.Kinds, []string{g.kind()})
	}
}

// maxRemembered limits the fingerprints of removed CAs and of removed users, so that the volume has room for two generations however
// often a Secret changes.
const maxRemembered = 500

// many replaces the fingerprints beyond the limit. No generation contains it, so a restart stays required.
const many = "many"

// remembered adds the fingerprints of a generation.
func remembered(before, added []string) []string {
	if all := union(before, added); len(all) <= maxRemembered+len(added) {
		return all
	}
	return union(added, []string{many})
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// store is the folder that memcached reads.
type store struct{ root *os.Root }

func openStore(folder string) (*store, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &store{root: root}, nil
}

func (s *store) close() { _ = s.root.Close() }

// current returns the name of the current generation, empty if there is none.
func (s *store) current() (string, error) {
	name, err := s.root.Readlink(currentLink)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, err
}

// read returns the files of a generation.
func (s *store) read(name string) (map[string][]byte, error) {
	return readValues(s.root, name)
}

// write writes a new generation, and returns its name.
func (s *store) write(g *generation) (string, error) {
	names, err := s.generations()
	if err != nil {
		return "", err
	}
	last := 0
	for _, name := range names {
		number, err := strconv.Atoi(strings.TrimPrefix(name, generationPrefix))
		if err == nil {
			last = max(last, number)
		}
	}
	name := generationPrefix + strconv.Itoa(last+1)
	if err := s.root.Mkdir(name, folderMode); err != nil {
		return "", err
	}
	for file, content := range g.files {
		if err := s.root.WriteFile(path.Join(name, file), content, fileMode); err != nil {
			return "", err
		}
	}
	return name, nil
}

// swap makes a generation the current one, at once.
func (s *store) swap(name string) error {
	if err := s.root.RemoveAll(currentLink + newSuffix); err != nil {
		return err
	}
	if err := s.root.Symlink(name, currentLink+newSuffix); err != nil {
		return err
	}
	return s.root.Rename(currentLink+newSuffix, currentLink)
}

// prune removes all generations but those to keep.
func (s *store) prune(keep ...string) error {
	names, err := s.generations()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(keep, name) {
			err = errors.Join(err, s.root.RemoveAll(name))
		}
	}
	return err
}

func (s *store) generations() ([]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), generationPrefix) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// readState returns the state. Without one, nothing is known.
func (s *store) readState() (state, error) {
	text, err := s.root.ReadFile(stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	var read state
	if err := json.Unmarshal(text, &read); err != nil {
		return state{}, fmt.Errorf("%s: %w", stateFile, err)
	}
	return read, nil
}

func (s *store) writeState(written state) error {
	text, err := json.Marshal(written)
	if err != nil {
		return err
	}
	return s.replace(stateFile, text)
}

// refused returns the last termination message.
func (s *store) refused() string {
	text, err := s.root.ReadFile(refusedFile)
	if err != nil {
		return "" // it is written once more
	}
	return string(text)
}

// refuse remembers a termination message. An empty one removes the file.
func (s *store) refuse(said string) error {
	if said == "" {
		return s.root.RemoveAll(refusedFile)
	}
	return s.replace(refusedFile, []byte(said))
}

// replace writes a file atomically.
func (s *store) replace(name string, content []byte) error {
	if err := s.root.WriteFile(name+newSuffix, content, fileMode); err != nil {
		return err
	}
	return s.root.Rename(name+newSuffix, name)
}
