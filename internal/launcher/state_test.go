// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReplaceFileOnAFullVolume writes to a device that is always full.
func TestReplaceFileOnAFullVolume(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, replaceFile(file, "good"))
	must(t, os.Symlink("/dev/full", file+".new"))
	if err := replaceFile(file, "new"); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	info, err := os.Lstat(file)
	must(t, err)
	if !info.Mode().IsRegular() {
		t.Errorf("the good file was replaced by %s", info.Mode())
	}
}
