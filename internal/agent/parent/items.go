// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package parent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/example/memcached-operator/internal/agent/protocol"
)

// metaLines is the number of lines in a complete NAME.meta (see the type items): memcached 1.6.45 writes a tag and 16 values, one in
// each line.
const metaLines = 17

// items is the path NAME of the file in which memcached keeps its items (-e). On SIGUSR1, memcached writes a second file, NAME.meta,
// and ends. The next memcached reads and removes NAME.meta. Without NAME.meta, the items are unusable.
type items string

func (i items) meta() string { return string(i) + ".meta" }

// prepare removes both files, unless usable is true and NAME.meta is complete. With an incomplete NAME.meta, memcached would abort
// at each start.
func (i items) prepare(usable bool) error {
	if usable && i.complete() {
		return nil
	}
	return errors.Join(remove(i.meta()), remove(string(i)))
}

func (i items) complete() bool {
	meta, err := os.ReadFile(i.meta())
	return err == nil && bytes.HasSuffix(meta, []byte("\n")) && bytes.Count(meta, []byte("\n")) >= metaLines
}

// checkVolume returns an error if the items need a larger volume with this argument list. Kubernetes limits the volume to the memory
// limit with which the pod has started. Raising the limit of the running pod does not enlarge the volume. Writes beyond its size kill
// memcached (SIGBUS).
func (i items) checkVolume(list protocol.List) error {
	const slack = 1 // MiB that memcached needs beside the items
	var volume syscall.Statfs_t
	exists := syscall.Statfs(filepath.Dir(string(i)), &volume) == nil
	if !list.InFile() || !exists { // without a volume, memcached itself ends with an error
		return nil
	}
	memory, err := strconv.ParseUint(list.Value("-m"), 10, 63)
	size := volume.Blocks * uint64(volume.Bsize) >> 20 //nolint:gosec // a block has a few KiB
	if err == nil && memory+slack <= size {
		return nil
	}
	return fmt.Errorf("the pod's volume for items has only %d MiB, the memory limit with which the pod has started: a new "+
		"pod (kubectl rollout restart, which empties the nodes) has a larger one, unless something lowers its limit", size)
}

func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing unusable items: %w", err)
	}
	return nil
}

// startable returns how long to wait before memcached may start. A memcached that starts in the same second in which NAME.meta was
// written discards its items.
//
// The modification time of the file may lag behind the clock by one tick of the kernel.
func (i items) startable(now time.Time) time.Duration {
	meta, err := os.Stat(i.meta())
	if err != nil {
		return 0
	}
	const tick = 20 * time.Millisecond
	next := meta.ModTime().Add(tick).Truncate(time.Second).Add(time.Second)
	return min(max(next.Sub(now), 0), time.Second)
}

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
