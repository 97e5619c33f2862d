// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

// state knows what memcached reads, what it has read, and which process it is. The store keeps this while the agent restarts.
type state struct {
	*environment

	store *store
	// record is the record in the store. Its lists are never changed in place.
	record record
	// current is the content that memcached reads, and version its name. previous is the content before; it is nil unless a reload
	// is pending.
	current, previous *content
	version           string
	// running is the running memcached.
	running Process
}

// open reads what the previous agent has stored.
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

// read reads a version. It returns nil if memcached could not use that version.
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

// observe finds the running memcached. If it has started since the last step, it has read the current version.
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

// install makes this content the current version.
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

// endSwap finds the running memcached after a change of the version. If none runs, the next memcached will read the current version.
// A process that has started since the last step may have read either version, and counts as having read both.
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
	case next.Process != (Process{}): // memcached has ended; its record stays until the next memcached starts
		next.Pending = false
	default:
		next = record{}
	}
	return s.save(next)
}

func (s *state) setPending(pending bool) error {
	next := s.record
	next.Pending = pending
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

// logins returns the first user of each version that memcached may have read.
func (s *state) logins() []User {
	var users []User
	for _, c := range []*content{s.current, s.previous} {
		if c != nil && len(c.users) > 0 {
			users = append(users, c.users[0])
		}
	}
	return users
}
