// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The components may run for days. They must not keep files open that the shell of make has open, such as a lock or a pipe.
func TestComponentsInheritNoFiles(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	inherited, err := unix.Dup(int(file.Fd())) // child processes inherit the copy, as they inherit files of a shell
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(inherited) }()
	isOpen := func() bool {
		out, err := exec.CommandContext(t.Context(), "find", "/proc/self/fd", "-lname", file.Name()).Output()
		if err != nil {
			t.Fatal(err)
		}
		return len(out) > 0
	}
	if !isOpen() {
		t.Fatal("a child does not inherit the file: this test proves nothing")
	}
	if err := keepFiles(); err != nil {
		t.Fatal(err)
	}
	if isOpen() {
		t.Error("a child inherits the file")
	}
}
