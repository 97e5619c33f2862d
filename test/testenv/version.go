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

// Minor is a minor version of Kubernetes: 30 for 1.30.14. Suites also run with the oldest supported API server, and then expect
// only what that version can do.
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

// ResizeSince is the first version that can change the resources of a running pod.
const ResizeSince Minor = 33

// exactWords is the first version whose error messages the tests expect word for word.
const exactWords Minor = 37

var (
	// refusedValue matches the value in an error message. Older API servers print the type of the field instead, or print a map in Go
	// syntax.
	refusedValue = regexp.MustCompile(
		`(Invalid|Duplicate) value: (?:"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|(?:map\[string\]interface \{\})?\{[^{}]*\})(?:: )?`)
	// tooLong matches the end of an older API server's message about a text that is too long.
	tooLong = regexp.MustCompile(`may not be longer than (\d+)`)
)

// Words removes or replaces the parts of an API server's error message that this version words differently from the newest version.
// Tests compare the results of Words for the expected and for the actual message.
func (m Minor) Words(refusal string) string {
	if m >= exactWords {
		return refusal
	}
	refusal = tooLong.ReplaceAllString(refusedValue.ReplaceAllString(refusal, "$1 value: "), "may not be more than $1 bytes")
	return strings.ReplaceAll(refusal, "must be of type int32", "must be of type integer") // older API servers know no integer formats
}

// Field returns the path of a field as an API server of this version prints it when the type of the value is wrong. Older versions
// omit the prefix "status.".
func (m Minor) Field(path string) string {
	if m >= exactWords {
		return path
	}
	return strings.TrimPrefix(path, "status.")
}
