// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import "reflect"

// state is what the agent knows about memcached: the process, the version that memcached should have read, and all that memcached may
// have read since its start. The store keeps the state for the agent's next start.
type state struct {
	*environment

	store *store
	// record equals the record in the store. Its lists are never changed in place.
	record record
	// current is the content of the current version. While a reload is pending, previous is the content of the version before it.
	// Otherwise previous is nil.
	current, previous *content
	// version is the name of the current version.
	version string
	// running is the memcached that was last found, or the zero value if none was found.
	running Process
}

// open reads what the agent has stored before its start.
func (s *state) open() error {
	var err error
	if s.store, err = openStore(s.config.Folder); err != nil {
		return err
	}
	if s.record, err = s.store.readRecord(); err != nil {
		s.log.Warn("The state cannot be read, and is lost", "reason", err.Error())
	}
	if s.version, err = s.store.current(); err != nil {
		return err
	}
	s.current = s.read(s.version)
	s.previous = s.read(s.record.Previous)
	return nil
}

// read returns the content of a version, or nil if memcached could not use the version.
func (s *state) read(version string) *content {
	if version == "" {
		return nil
	}
	files, err := s.store.read(version)
	if err != nil {
		return nil
	}
	read, err := parseFiles(s.config, files)
	if err != nil {
		return nil
	}
	return read
}

// observe finds the running memcached. A new process has read the current version at its start, and no other version, so observe
// begins a new record. If an earlier call of install was interrupted, observe calls endSwap instead.
func (s *state) observe() error {
	if s.record.Swapping {
		return s.endSwap()
	}
	found, err := s.processes.find()
	if err != nil {
		return err
	}
	s.running = found
	if found == (Process{}) || found == s.record.Process {
		return nil
	}
	s.previous = nil
	next := record{Process: found}
	next.add(s.current)
	return s.save(next)
}

// install writes this content as a new version, and makes it the current one.
func (s *state) install(c *content) error {
	next := s.record
	next.Swapping, next.Pending, next.Previous = true, true, s.version
	next.add(c)
	if err := s.save(next); err != nil {
		return err
	}
	version, err := s.store.write(c.files)
	if err != nil {
		return err
	}
	if err := s.store.swap(version); err != nil {
		return err
	}
	s.previous, s.current, s.version = s.current, c, version
	s.log.Info("The Secrets changed what memcached reads", "version", version, "serial", c.serial(), "users", len(c.users))
	return s.endSwap()
}

// endSwap finds the running memcached after install has replaced the current version, or was interrupted. If none runs, the next memcached
// will read the current version. If a new memcached has started meanwhile, it may have read the current or the previous version. Its record
// covers both.
func (s *state) endSwap() error {
	found, err := s.processes.find()
	if err != nil {
		return err
	}
	s.running = found
	next := s.record
	next.Swapping = false
	switch {
	case found != (Process{}):
		next.Process = found
	case next.Process != (Process{}): // memcached has ended; the record stays until the next memcached is found
		next.Pending = false
	default:
		next = record{}
	}
	return s.save(next)
}

// update changes the record, unless it already is as the change makes it.
func (s *state) update(change func(next *record)) error {
	next := s.record
	if change(&next); reflect.DeepEqual(next, s.record) {
		return nil
	}
	return s.save(next)
}

func (s *state) save(next record) error {
	if !next.Pending {
		next.Previous = ""
	}
	if err := s.store.writeRecord(next); err != nil {
		return err
	}
	s.record = next
	if next.Swapping {
		return nil
	}
	if !next.Pending {
		s.previous = nil
	}
	return s.store.prune(s.version, next.Previous)
}

// logins returns the first user of the current version, and the first user of the previous version while a reload is pending.
func (s *state) logins() []User {
	var users []User
	for _, c := range []*content{s.current, s.previous} {
		if c != nil && len(c.users) > 0 {
			users = append(users, c.users[0])
		}
	}
	return users
}
