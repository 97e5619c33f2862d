// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// source reads the ConfigMap with the arguments, which the kubelet delivers as files.
type source struct {
	folder, section string
	ordinal         int
	items           items
	// seen is the section's file as it was at the last call of source.changed. If seen is nil, the next call reports a change. The kubelet
	// replaces the file when the ConfigMap changes.
	seen os.FileInfo
}

// entry is the argument list that the ConfigMap assigns to this node. hash is empty if there is none.
type entry struct {
	hash string
	list protocol.List
	// problem is why the list cannot be used.
	problem error
}

// read returns the section for the node's pod template.
func (s *source) read() (protocol.Section, error) {
	text, err := os.ReadFile(filepath.Join(s.folder, protocol.SectionKey(s.section)))
	if err != nil {
		return protocol.Section{}, err
	}
	return protocol.ParseSection(string(text))
}

// entry returns the entry of this node. On the node's first start, the section's default replaces a missing entry.
func (s *source) entry(first bool) (entry, error) {
	section, err := s.read()
	if err != nil {
		return entry{}, err
	}
	found := entry{hash: section.Nodes[s.ordinal]}
	if found.hash == "" && first {
		found.hash = section.Default
	}
	if found.hash != "" {
		found.list, found.problem = s.list(found.hash)
	}
	return found, nil
}

// former returns the section's default argument list, and false if it cannot be read. After a change of the arguments, the default
// remains the old list until every node runs with the new one.
func (s *source) former() (protocol.List, bool) {
	section, err := s.read()
	if err != nil {
		return protocol.List{}, false
	}
	list, err := s.list(section.Default)
	return list, err == nil
}

func (s *source) list(hash string) (protocol.List, error) {
	text, err := os.ReadFile(filepath.Join(s.folder, protocol.ListKey(filepath.Base(hash))))
	if err != nil {
		return protocol.List{}, err
	}
	list, err := protocol.ParseList(string(text))
	if err == nil && list.Hash() != hash {
		err = fmt.Errorf("%w: the list with the hash %s was edited", protocol.ErrNotOurs, hash)
	}
	if err == nil {
		err = s.items.checkVolume(list)
	}
	return list, err
}

// twin returns the Memcached that spec.fillFrom names, and false if there is none.
func (s *source) twin() (_ protocol.Twin, found bool, _ error) {
	text, err := os.ReadFile(filepath.Join(s.folder, protocol.TwinKey))
	if errors.Is(err, fs.ErrNotExist) {
		return protocol.Twin{}, false, nil
	}
	if err != nil {
		return protocol.Twin{}, false, err
	}
	twin, err := protocol.ParseTwin(string(text))
	return twin, err == nil, err
}

// changed reports whether the section's file was replaced since the last call.
func (s *source) changed() bool {
	now, err := os.Stat(filepath.Join(s.folder, protocol.SectionKey(s.section)))
	if err != nil || s.seen != nil && os.SameFile(now, s.seen) && now.ModTime().Equal(s.seen.ModTime()) {
		return false
	}
	s.seen = now
	return true
}
