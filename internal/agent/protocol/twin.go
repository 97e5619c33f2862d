// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"regexp"
	"strconv"
)

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
	return t.Name + "-" + strconv.Itoa(ordinal) + "." + t.Name + "." + t.Namespace + ".svc"
}
