// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Entry is what the ConfigMap of arguments assigns to the living pod of one node, as JSON. A parent ignores the entry of another pod.
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

// EntryKey returns the ConfigMap's key of the entry of the node with this number.
func EntryKey(ordinal int) string { return strconv.Itoa(ordinal) }

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

// TwinKey is the key of the ConfigMap whose value is the text of a Twin. It is absent without spec.fillFrom.
const TwinKey = "fillFrom"

// twinPattern matches the text of a Twin: name, namespace and size.
var twinPattern = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])? [a-z0-9]([-a-z0-9]{0,61}[a-z0-9])? [0-9]{1,4}\n$`)

// Twin is the Memcached that spec.fillFrom names. An empty node copies items from the twin's node with the same number.
type Twin struct {
	Name, Namespace string
	Size            int
}

// ParseTwin parses the text of a Twin.
func ParseTwin(text string) (Twin, error) {
	if !twinPattern.MatchString(text) {
		return Twin{}, fmt.Errorf("%w: %s %q", ErrNotOurs, TwinKey, shorten(text))
	}
	var twin Twin
	_, err := fmt.Sscan(text, &twin.Name, &twin.Namespace, &twin.Size)
	return twin, err
}

// String returns the text of the Twin.
func (t Twin) String() string { return fmt.Sprintf("%s %s %d\n", t.Name, t.Namespace, t.Size) }

// Host returns the DNS name of the twin's node with this number. Resolvers in pods append the cluster's domain.
func (t Twin) Host(ordinal int) string {
	return t.Name + "-" + strconv.Itoa(ordinal) + "." + t.Name + "-nodes." + t.Namespace + ".svc"
}
