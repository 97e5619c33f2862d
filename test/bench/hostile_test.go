// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestMemoryLimit compares what is in the manifest with what the operator is known to need.
func TestMemoryLimit(t *testing.T) {
	t.Chdir("../..")
	limit, err := memoryLimit()
	if err != nil {
		t.Fatal(err)
	}
	if limit <= mostResident {
		t.Errorf("the limit of %g MiB is not above the %d MiB that the operator may need", limit, mostResident)
	}
}
