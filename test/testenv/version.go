// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Minor is the minor version of an API server's Kubernetes: 30 for 1.30.14. Suites that depend on the API server also run with the
// oldest supported version, and expect only what that version can do.
type Minor uint

// MinorOf asks an API server for its version.
func MinorOf(config *rest.Config) (Minor, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return 0, fmt.Errorf("make a client for discovery: %w", err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		return 0, fmt.Errorf("ask for the version: %w", err)
	}
	parsed, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return 0, fmt.Errorf("read the version: %w", err)
	}
	return Minor(parsed.Minor()), nil
}

// ResizeSince is the first version that can change the resources of pods.
const ResizeSince Minor = 33

// exactWords is the version whose refusals the tests expect word for word.
const exactWords Minor = 37

var (
	// refusedValue is the value in a refusal. Older API servers have the type of the field instead, or print maps as Go does.
	refusedValue = regexp.MustCompile(
		`(Invalid|Duplicate) value: (?:"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|(?:map\[string\]interface \{\})?\{[^{}]*\})(?:: )?`)
	// tooLong is the end of the refusal of a text that is too long.
	tooLong = regexp.MustCompile(`may not be longer than (\d+)`)
)

// Words returns a refusal without the parts that API servers of this version word differently from the newest one. To compare an
// expectation with a refusal, call it for both.
func (m Minor) Words(refusal string) string {
	if m >= exactWords {
		return refusal
	}
	refusal = tooLong.ReplaceAllString(refusedValue.ReplaceAllString(refusal, "$1 value: "), "may not be more than $1 bytes")
	return strings.ReplaceAll(refusal, "must be of type int32", "must be of type integer") // older API servers know no integer formats
}

// Field returns how an API server of this version names a field whose type it refuses. Older ones omit the prefix "status.".
func (m Minor) Field(path string) string {
	if m >= exactWords {
		return path
	}
	return strings.TrimPrefix(path, "status.")
}
