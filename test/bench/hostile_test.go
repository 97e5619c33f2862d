// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestMemoryLimit compares the limit in the manifest with what the operator is known to need.
func TestMemoryLimit(t *testing.T) {
	t.Chdir("../..")
	limit, err := memoryLimit()
	if err != nil {
		t.Fatal(err)
	}
	if limit <= mostResident {
		t.Errorf("the memory limit is %g MiB, and the operator may need %d MiB", limit, mostResident)
	}
}
