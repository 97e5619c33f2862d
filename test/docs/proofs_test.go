// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// TestDocumentedProofsExist checks that each proof in docs/operations/security.md exists: a test file, and a name in this file.
func TestDocumentedProofsExist(t *testing.T) {
	text := repository.Read(t, "docs", "operations", "security.md")
	proofs := regexp.MustCompile("`([a-z0-9_/]+_test\\.go)`, `([^`]+)`").FindAllStringSubmatch(text, -1)
	if len(proofs) < 12 {
		t.Errorf("the document mentions only %d proofs", len(proofs))
	}
	for _, proof := range proofs {
		file, name := proof[1], proof[2]
		if !strings.Contains(repository.Read(t, file), name) {
			t.Errorf("%s has no %q", file, name)
		}
	}
}
