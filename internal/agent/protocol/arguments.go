// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pattern matches the arguments that the operator writes, joined by spaces. Other arguments could enable UDP (-U with a port), run
// scripts (-o proxy_config), or let clients shut memcached down (-A).
const Pattern = `^-p 11211 -U 0 -m [0-9]+ -c [0-9]+ -t [0-9]+ -I [0-9]+[km] -W( -X)?( -F)?( -e /run/memcached-items/items)?` +
	`(` + users + buffers + `| -Z -l notls:(127[.]0[.]0[.]1|[*]):11211,[*]:11212` + users + buffers + certificate + `)$`

const (
	users       = `( -Y /run/memcached/current/users)?`
	buffers     = ` -o read_buf_mem_limit=[0-9]+(,idle_timeout=[0-9]+)?`
	certificate = `,ssl_chain_cert=/run/memcached/current/tls[.]crt,ssl_key=/run/memcached/current/tls[.]key,ssl_min_version=[23]` +
		`(,ssl_ca_cert=/run/memcached/current/ca[.]crt,ssl_verify_mode=2)?`
)

var pattern = regexp.MustCompile(Pattern)

// List is the command line of memcached on one node.
type List struct {
	// Target identifies what the spec asked for. Arguments that the operator renders later for the same target change nothing.
	Target string `json:"target"`
	// Arguments are memcached's arguments without the program's name, joined by spaces.
	Arguments string `json:"arguments"`
	// Restart is what else restarts memcached: with another value, equal arguments also need a restart.
	Restart string `json:"restart,omitempty"`
	// Forget is the start of the process of memcached that must restart to forget what was removed from a Secret, 0 if none must. Another
	// process has nothing to forget.
	Forget int `json:"forget,omitempty"`
}

// ErrNotOurs means that the operator would never write this text.
var ErrNotOurs = errors.New("not what the operator writes")

// maxList bounds the size of a list, because a status must be short.
const maxList = 1 << 10

// Check refuses a list that the operator would never write.
func (l List) Check() error {
	if !pattern.MatchString(l.Arguments) || len(l.Target)+len(l.Arguments)+len(l.Restart) > maxList {
		return fmt.Errorf("%w: arguments %q", ErrNotOurs, Shorten(l.Arguments))
	}
	return nil
}

// Fields returns the arguments one by one.
func (l List) Fields() []string { return strings.Split(l.Arguments, " ") }

// Value returns the argument after an option such as -m, or an empty text if there is none.
func (l List) Value(option string) string {
	arguments := l.Fields()
	for i, argument := range arguments[:len(arguments)-1] {
		if argument == option {
			return arguments[i+1]
		}
	}
	return ""
}

// Shorten cuts off a text after 200 bytes.
func Shorten(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// InFile reports whether memcached keeps its items in a file (-e).
func (l List) InFile() bool { return l.Value("-e") != "" }

// Keeps reports whether memcached keeps its items after a restart with next. It does if both lists name a file, and have the same -m and
// -I. memcached also compares other options, which the operator never changes.
func (l List) Keeps(next List) bool {
	return l.InFile() && next.InFile() && l.Value("-m") == next.Value("-m") && l.Value("-I") == next.Value("-I")
}

// Same reports whether memcached need not change to run with next.
func (l List) Same(next List) bool { return l.Arguments == next.Arguments && l.Restart == next.Restart }

// Grows reports whether next differs only by more memory (-m), and memcached can get this memory without a restart. Items in a file
// always need a restart, because the size of the file is fixed.
func (l List) Grows(next List) bool {
	less, lessErr := strconv.Atoi(l.Value("-m"))
	more, moreErr := strconv.Atoi(next.Value("-m"))
	if l.InFile() || l.Restart != next.Restart || lessErr != nil || moreErr != nil || less >= more {
		return false
	}
	same := l.Fields()
	same[slices.Index(same, "-m")+1] = next.Value("-m")
	return strings.Join(same, " ") == next.Arguments
}

// Entry is what the ConfigMap of arguments assigns, under the name of a pod, to the living pod of that name, as JSON. A parent ignores the
// entry of another UID.
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
