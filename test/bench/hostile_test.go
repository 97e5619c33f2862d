// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestMemoryLimit checks that the operator's memory limit in the manifest exceeds mostResident.
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
