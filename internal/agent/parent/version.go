// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// leastVersion is the oldest memcached that the parent starts with items in a file. Later ones may lose them: see checkVersion.
var leastVersion = [3]int{1, 6, 45}

// checkVersion refuses a memcached that is too old for items in a file, and removes items that another version has written. If the
// list keeps items in memory, it does nothing.
func (n *node) checkVersion(ctx context.Context, list protocol.List) error {
	if !list.InFile() {
		return nil
	}
	version, err := versionOf(ctx, n.options.Program)
	if err != nil {
		return fmt.Errorf("the version of memcached is not known: %w", err)
	}
	var number [3]int
	_, err = fmt.Sscanf(version, "memcached %d.%d.%d", &number[0], &number[1], &number[2])
	if err == nil && slices.Compare(number[:], leastVersion[:]) < 0 {
		return fmt.Errorf("storage.type MemoryFile needs memcached 1.6.45 or later, but the image has %s: set spec.image to a later one, "+
			"or storage.type to Memory", version)
	}
	if number != leastVersion {
		n.log.Printf("%s was not tested with storage.type MemoryFile, only 1.6.45: a restart may lose items", version)
	}
	if n.state.Version != version {
		if err := n.items.prepare(false); err != nil {
			return err
		}
	}
	n.state.Version = version
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
