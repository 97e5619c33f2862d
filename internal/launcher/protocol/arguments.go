// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Prefixes of keys of the ConfigMap. The hash of a list follows listPrefix. The hash of a pod template follows sectionPrefix.
const (
	listPrefix    = "arguments."
	sectionPrefix = "nodes."
)

// ListKey returns the ConfigMap's key for the List with this hash.
func ListKey(hash string) string { return listPrefix + hash }

// SectionKey returns the ConfigMap's key for the Section of the pod template with this hash.
func SectionKey(template string) string { return sectionPrefix + template }

// ListHash returns the hash in a key that ListKey has made, and false for any other key.
func ListHash(key string) (string, bool) { return strings.CutPrefix(key, listPrefix) }

// SectionTemplate returns the hash in a key that SectionKey has made, and false for any other key.
func SectionTemplate(key string) (string, bool) { return strings.CutPrefix(key, sectionPrefix) }

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

var (
	pattern = regexp.MustCompile(Pattern)
	// restart matches the line after the arguments, which contains spec.restartedAt. Without spec.restartedAt, the line is missing.
	restart = regexp.MustCompile(`^restartedAt=[0-9TZ:.+-]{1,64}$`)
)

// List is the command line of memcached on one node.
type List struct {
	// Arguments are memcached's arguments, without the program's name.
	Arguments []string
	// RestartedAt is spec.restartedAt, or empty. A new value restarts memcached.
	RestartedAt string
}

// ErrNotOurs means that the operator would never write this text.
var ErrNotOurs = errors.New("not what the operator writes")

// ParseList parses the text of a list. It refuses a text that the operator would never write.
func ParseList(text string) (List, error) {
	line, rest, _ := strings.Cut(text, "\n")
	if !pattern.MatchString(line) {
		return List{}, fmt.Errorf("%w: arguments %q", ErrNotOurs, shorten(line))
	}
	list := List{Arguments: strings.Split(line, " ")}
	if rest = strings.TrimSuffix(rest, "\n"); rest != "" {
		if !restart.MatchString(rest) {
			return List{}, fmt.Errorf("%w: %q after the arguments", ErrNotOurs, shorten(rest))
		}
		list.RestartedAt = strings.TrimPrefix(rest, "restartedAt=")
	}
	return list, nil
}

// String returns the text of the list.
func (l List) String() string {
	text := strings.Join(l.Arguments, " ") + "\n"
	if l.RestartedAt != "" {
		text += "restartedAt=" + l.RestartedAt + "\n"
	}
	return text
}

// Hash returns the hash that identifies the list.
func (l List) Hash() string {
	sum := sha256.Sum256([]byte(l.String()))
	return hex.EncodeToString(sum[:8])
}

// Value returns the argument after an option such as -m, or an empty text if there is none.
func (l List) Value(option string) string {
	for i, argument := range l.Arguments[:max(len(l.Arguments)-1, 0)] {
		if argument == option {
			return l.Arguments[i+1]
		}
	}
	return ""
}

// shorten cuts off a text after 200 bytes.
func shorten(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
