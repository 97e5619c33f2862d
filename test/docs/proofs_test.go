// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// proof matches a test file and the beginning of a test's name, as the tables of proofs write them.
var proof = regexp.MustCompile("`([a-zA-Z0-9_/]+_test\\.go)`(?:, `|: \")([^`\"]+)[`\"]")

// TestProofsExist checks that each test that a page names as a proof exists.
func TestProofsExist(t *testing.T) {
	for name := range pages(t) {
		for _, match := range proof.FindAllStringSubmatch(repository.Read(t, name), -1) {
			if !strings.Contains(repository.Read(t, match[1]), match[2]) {
				t.Errorf("%s names %q, which is not in %s", name, match[2], match[1])
			}
		}
	}
}
