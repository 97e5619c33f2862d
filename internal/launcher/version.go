// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package launcher

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/example/memcached-operator/internal/launcher/protocol"
)

// testedVersions are the versions that were tested with items in a file, the oldest first. The launcher does not start an older
// memcached with such a file.
var testedVersions = []string{"1.6.45"}

// checkVersion finds the version of memcached if its items are in a file. It discards a file from another version.
func (l *launcher) checkVersion(ctx context.Context, list protocol.List) error {
	if !list.InFile() {
		return nil
	}
	version, err := versionOf(ctx, l.options.Program)
	if err != nil {
		return fmt.Errorf("the version of memcached is not known: %w", err)
	}
	number := strings.TrimPrefix(version, "memcached ")
	switch known, older := compare(number, testedVersions[0]); {
	case known && older:
		return fmt.Errorf("storage.type MemoryFile needs memcached %s or later, but the image has %s: set spec.image to a later one, "+
			"or storage.type to Memory", testedVersions[0], version)
	case !slices.Contains(testedVersions, number):
		l.log.Printf("%s was not tested with storage.type MemoryFile, only %s: a restart may lose items", version,
			strings.Join(testedVersions, ", "))
	}
	if l.state.Version != version {
		if err := l.items.prepare(false); err != nil {
			return err
		}
	}
	l.state.Version = version
	return nil
}

// versionOf returns the version that a program prints, such as "memcached 1.6.45".
func versionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, program, "-V").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	return line[:min(len(line), maxReason)], err
}

// compare reports whether both versions are known, and whether the first one is older.
func compare(version, other string) (known, older bool) {
	a, errA := numbers(version)
	b, errB := numbers(other)
	return errA == nil && errB == nil, slices.Compare(a[:], b[:]) < 0
}

func numbers(version string) (parts [3]int, err error) {
	_, err = fmt.Sscanf(version, "%d.%d.%d", &parts[0], &parts[1], &parts[2])
	return parts, err
}
