// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
)

const (
	// currentLink is a link to the slot with the current files.
	currentLink = "current"
	recordFile  = "state.json"
	// newSuffix ends the name of a file or link until the file or link replaces the previous one.
	newSuffix = ".new"
)

// slots are the two folders for files. While it is not proven that memcached has read the current files, the other slot has the files
// before them.
var slots = [2]string{"a", "b"}

// store is the folder from which memcached reads its files. It also has the agent's record. memcached and the agent run as the same user:
// only that user may read the files.
type store struct{ root *os.Root }

// current returns the name of the slot with the current files, which is empty if there are none, and the name of the other slot.
func (s store) current() (current, other string, err error) {
	current, err = s.root.Readlink(currentLink)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if other = slots[0]; current == other {
		other = slots[1]
	}
	return current, other, err
}

// read returns the content of the files in a slot, or nil if memcached could not use them, for example because they are not complete.
func (s store) read(c Config, slot string) *content {
	files, err := readValues(s.root.FS(), slot)
	if err != nil {
		return nil
	}
	read := &content{users: decodeUsers(files[usersFile])}
	if c.TLSSecret != "" {
		read.pair, err = parsePair(files, c.ClientCA)
	}
	if err != nil || (c.UsersSecret != "") != (len(read.users) > 0) {
		return nil
	}
	return read
}

// prepare writes files into the slot that is not current.
func (s store) prepare(files map[string][]byte) error {
	_, slot, err := s.current()
	if err != nil {
		return err
	}
	if err := errors.Join(s.root.RemoveAll(slot), s.root.RemoveAll(currentLink+newSuffix)); err != nil {
		return err
	}
	if err := errors.Join(s.root.Mkdir(slot, 0o700), s.root.Symlink(slot, currentLink+newSuffix)); err != nil {
		return err
	}
	for name, value := range files {
		if err := s.root.WriteFile(path.Join(slot, name), value, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// swap makes the prepared files the current ones, at once.
func (s store) swap() error { return s.root.Rename(currentLink+newSuffix, currentLink) }

// prune deletes the files before the current ones.
func (s store) prune() error {
	_, other, err := s.current()
	return errors.Join(err, s.root.RemoveAll(other))
}

// record is what the files do not say, in case the agent restarts.
type record struct {
	// Refused is the termination message with which the agent has last ended, empty once memcached could start.
	Refused string `json:"refused,omitempty"`
	// Removed has, for each reason to restart memcached, the process that ran when something was last removed. Only this process may have
	// read it: those before have ended, and those after read the files after the change.
	Removed map[string]Process `json:"removed,omitempty"`
}

// removing is the process of a reason while the files are being replaced. Whichever process then runs may have read those before.
var removing = Process{ID: -1}

// load returns the stored record. It is empty if there is none, or with an error.
func (s store) load() (record, error) {
	read := record{Removed: map[string]Process{}}
	text, err := s.root.ReadFile(recordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return read, nil
	}
	err = errors.Join(err, json.Unmarshal(text, &read))
	return read, err
}

func (s store) save(written record) error {
	text, err := json.Marshal(written)
	if err != nil {
		return err
	}
	if err := s.root.WriteFile(recordFile+newSuffix, text, 0o600); err != nil {
		return err
	}
	return s.root.Rename(recordFile+newSuffix, recordFile)
}
