// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"regexp"
	"strconv"
)

// TwinKey is the key of the ConfigMap with the text of a Twin. It is absent if nodes are not filled.
const TwinKey = "fillFrom"

// TwinPattern matches the text of a Twin without the end of its line: its name, its namespace and its size.
const TwinPattern = `^[a-z]([-a-z0-9]{0,61}[a-z0-9])? [a-z0-9]([-a-z0-9]{0,61}[a-z0-9])? [0-9]{1,4}$`

var twinPattern = regexp.MustCompile(TwinPattern[:len(TwinPattern)-1] + `\n$`)

// Twin is the cache from whose nodes empty nodes fill themselves: each from the one of its own ordinal.
type Twin struct {
	Name, Namespace string
	Size            int
}

// ParseTwin reads the text of a Twin.
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

// Host is the name of a node in the DNS of the cluster, to which resolvers of pods add its domain.
func (t Twin) Host(ordinal int) string {
	return t.Name + "-" + strconv.Itoa(ordinal) + "." + t.Name + "." + t.Namespace + ".svc"
}
