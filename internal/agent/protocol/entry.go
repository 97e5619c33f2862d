// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"fmt"
	"time"
)

// Entry is what the ConfigMap of arguments assigns to the living pod of one node, as JSON. A parent ignores the entry of another UID.
type Entry struct {
	// Pod is the UID of the pod.
	Pod string `json:"pod"`
	// Number grows with each change of the entry.
	Number int64 `json:"number"`

	List

	// Former is what the node goes back to if it refuses the List.
	Former *List `json:"former,omitempty"`
	// Refused is the operator's record of a List that the node has refused, or nil. Parents ignore it.
	Refused *Refused `json:"refused,omitempty"`
}

// Refused records a value that a node has refused.
type Refused struct {
	Value string `json:"value"`
	Words string `json:"words"`
	// Tries is how often the value was refused, and At is when the last time was.
	Tries int       `json:"tries"`
	At    time.Time `json:"at"`
}

// EntryKey returns the ConfigMap's key of a pod's entry. It is the pod's name, because the copies of a cache share the ConfigMap.
func EntryKey(pod string) string { return pod }

// ParseEntry parses the text of an entry. It returns the entry and an error if the operator would never write its arguments.
func ParseEntry(text string) (Entry, error) {
	var entry Entry
	if err := json.Unmarshal([]byte(text), &entry); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrNotOurs, err)
	}
	err := entry.Check()
	if err == nil && entry.Former != nil {
		err = entry.Former.Check()
	}
	return entry, err
}

// String returns the text of the entry.
func (e Entry) String() string {
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // impossible: an entry holds only text, numbers and times
	}
	return string(text)
}
