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

// Names in the directory that memcached reads.
const (
	currentLink   = "current"
	versionPrefix = "generation-"
	recordFile    = "state.json"
	// newSuffix ends the name of a file or link until the file or link replaces the previous one.
	newSuffix = ".new"
)

// memcached and the agent run as the same user. Only that user may read the files.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// store is the directory from which memcached reads its files. It also has the agent's own files.
type store struct{ root *os.Root }

func openStore(folder string) (*store, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &store{root: root}, nil
}

func (s *store) close() { _ = s.root.Close() }

// current returns the name of the current version, or "" if there is none.
func (s *store) current() (string, error) {
	name, err := s.root.Readlink(currentLink)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, err
}

func (s *store) read(name string) (map[string][]byte, error) {
	return readValues(s.root, name)
}

// write writes a new version, and returns its name.
func (s *store) write(files map[string][]byte) (string, error) {
	names, err := s.versions()
	if err != nil {
		return "", err
	}
	last := 0
	for _, name := range names {
		number, err := strconv.Atoi(strings.TrimPrefix(name, versionPrefix))
		if err == nil {
			last = max(last, number)
		}
	}
	name := versionPrefix + strconv.Itoa(last+1)
	if err := s.root.Mkdir(name, folderMode); err != nil {
		return "", err
	}
	for file, value := range files {
		if err := s.root.WriteFile(path.Join(name, file), value, fileMode); err != nil {
			return "", err
		}
	}
	return name, nil
}

// swap atomically makes a version the current one.
func (s *store) swap(name string) error {
	if err := s.root.RemoveAll(currentLink + newSuffix); err != nil {
		return err
	}
	if err := s.root.Symlink(name, currentLink+newSuffix); err != nil {
		return err
	}
	return s.root.Rename(currentLink+newSuffix, currentLink)
}

func (s *store) prune(keep ...string) error {
	names, err := s.versions()
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

func (s *store) versions() ([]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), versionPrefix) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// readRecord returns the stored record, or an empty record if there is none.
func (s *store) readRecord() (record, error) {
	text, err := s.root.ReadFile(recordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	var read record
	if err := json.Unmarshal(text, &read); err != nil {
		return record{}, fmt.Errorf("%s: %w", recordFile, err)
	}
	return read, nil
}

func (s *store) writeRecord(written record) error {
	text, err := json.Marshal(written)
	if err != nil {
		return err
	}
	return s.replace(recordFile, text)
}

// replace writes a file atomically.
func (s *store) replace(name string, text []byte) error {
	if err := s.root.WriteFile(name+newSuffix, text, fileMode); err != nil {
		return err
	}
	return s.root.Rename(name+newSuffix, name)
}

// record is what the agent must remember about memcached in case the agent restarts.
type record struct {
	// Process is the memcached that the agent last found.
	Process Process `json:"process"`
	// Swapping is true while the agent replaces the current version. A memcached that starts meanwhile may read the old or the new version.
	Swapping bool `json:"swapping,omitempty"`
	// Pending is true while a reload is pending. A reload becomes pending when the current version changes, or when a check of what Process
	// has read fails. It stays pending until the agent has verified that Process has read the current version, or has found that Process was
	// replaced by a memcached that has read this version at its start.
	Pending bool `json:"pending,omitempty"`
	// Previous is the version before the current one, or empty if no reload is pending. memcached may still use the users of this version.
	Previous string `json:"previous,omitempty"`
	// Refused is the termination message with which the agent has last ended, empty once memcached could start.
	Refused string `json:"refused,omitempty"`
	// Trusted are fingerprints of the CAs that Process may have read. For the limit of their number, see maxRemoved.
	Trusted []string `json:"trusted,omitempty"`
	// Logins are fingerprints of the users that Process may have read. Each covers the name and the password. Their number is also
	// limited by maxRemoved.
	Logins []string `json:"logins,omitempty"`
	// Algorithms are the key algorithms of all certificates that Process may have read. For each algorithm, Process serves the last
	// certificate.
	Algorithms []string `json:"kinds,omitempty"`
}

// add adds content that memcached has read or may read.
func (r *record) add(read *content) {
	if read == nil {
		return
	}
	r.Trusted = addLimited(r.Trusted, read.authorities)
	r.Logins = addLimited(r.Logins, read.logins())
	r.Algorithms = union(r.Algorithms, read.algorithms())
}

// restartRequired reports for each reason whether memcached must restart. current is the content that memcached should use.
func (r *record) restartRequired(current *content) map[string]bool {
	lacks := func(read, current []string) bool {
		return slices.ContainsFunc(read, func(one string) bool { return !slices.Contains(current, one) })
	}
	if current == nil {
		return map[string]bool{ReasonCARemoved: false, ReasonCertificateRemoved: false, ReasonUserRemoved: false}
	}
	return map[string]bool{
		ReasonCARemoved:          lacks(r.Trusted, current.authorities),
		ReasonCertificateRemoved: lacks(r.Algorithms, current.algorithms()),
		ReasonUserRemoved:        lacks(r.Logins, current.logins()),
	}
}

// maxRemoved limits the fingerprints of removed CAs and of removed users, so that the record and two versions fit on the volume, however
// often a Secret changes.
const maxRemoved = 500

// many is the text that replaces the earlier fingerprints when there are too many of them. It is never a fingerprint of the current
// content, so a restart stays required.
const many = "many"

func addLimited(before, added []string) []string {
	if all := union(before, added); len(all) <= maxRemoved+len(added) {
		return all
	}
	return union(added, []string{many})
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
