// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Section assigns a List to each node of a pod template.
type Section struct {
	// Default is the hash of the List for the first start of a node without an entry.
	Default string
	// Nodes maps the number of a node to the hash of its List.
	Nodes map[int]string
}

const defaultEntry = "default"

// ParseSection parses the text of a section: a line for the default, and a line such as "0 1f2e3d4c5b6a7988" for each entry.
func ParseSection(text string) (Section, error) {
	section := Section{Nodes: map[int]string{}}
	for line := range strings.Lines(text) {
		name, hash, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		ordinal, err := strconv.Atoi(name)
		switch {
		case found && name == defaultEntry:
			section.Default = hash
		case found && err == nil:
			section.Nodes[ordinal] = hash
		default:
			return Section{}, fmt.Errorf("%w: entry %q", ErrNotOurs, shorten(line))
		}
	}
	return section, nil
}

// String returns the text of the section.
func (s Section) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", defaultEntry, s.Default)
	for _, ordinal := range slices.Sorted(maps.Keys(s.Nodes)) {
		fmt.Fprintf(&text, "%d %s\n", ordinal, s.Nodes[ordinal])
	}
	return text.String()
}
