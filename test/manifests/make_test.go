// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// make expands the values of its variables before a recipe can check them.
func TestMakeRunsNothingOfAValue(t *testing.T) {
	for _, name := range []string{"VERSION", "IMG", "IMAGE_TAG_BASE"} {
		file := filepath.Join(t.TempDir(), "made")
		run := runMake(t, "default", "check-version", name+"=$(shell touch "+file+")")
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s has run a command", name)
		}
		if !run.failed || !strings.Contains(run.output, name+" contains a $") {
			t.Errorf("%s: %s", name, run.output)
		}
	}
}
