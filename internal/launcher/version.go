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

// testedVersions are the versions of memcached that were tested with items in a file, oldest first. The launcher does not start an
// older version with items in a file.
var testedVersions = []string{"1.6.45"}

// checkVersion refuses a memcached that is too old for items in a file, and removes items that another version has written. If the
// list keeps items in memory, it does nothing.
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

// versionOf returns the version that a program prints with -V, such as "memcached 1.6.45".
func versionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	output, err := exec.CommandContext(ctx, program, "-V").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	return line[:min(len(line), maxReason)], err
}

// compare reports whether both versions can be parsed, and whether version is older than other.
func compare(version, other string) (known, older bool) {
	a, errA := numbers(version)
	b, errB := numbers(other)
	return errA == nil && errB == nil, slices.Compare(a[:], b[:]) < 0
}

func numbers(version string) (parts [3]int, err error) {
	_, err = fmt.Sscanf(version, "%d.%d.%d", &parts[0], &parts[1], &parts[2])
	return parts, err
}
