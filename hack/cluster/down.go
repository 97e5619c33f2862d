// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

// removal is how long the kernel may take to end all processes of a cluster and to release their cgroups.
const removal = time.Minute

func (c *cluster) down(ctx context.Context) error {
	if _, err := os.Stat(c.dir); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(c.out, "There is no cluster %s.\n", c.name)
		return nil
	}
	if err := c.remove(ctx); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "The cluster %s is gone.\n", c.name)
	return nil
}

// remove ends all processes of the cluster, which also removes its mounts and interfaces. It then removes the cgroups and files.
func (c *cluster) remove(ctx context.Context) error {
	if pid := c.firstPID(); pid != 0 {
		// When the first process of a PID namespace ends, the kernel ends all other processes in it.
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			return fmt.Errorf("ending the cluster %s: %w", c.name, err)
		}
	}
	// The last processes may not have left their cgroups yet.
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, removal, true, func(context.Context) (bool, error) {
		return c.firstPID() == 0 && c.removeCgroups() == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the end of the cluster %s: %w", c.name, errors.Join(err, c.removeCgroups()))
	}
	return os.RemoveAll(c.dir)
}

// hierarchies returns the folders in which to create cgroups: a single folder with cgroup v2, and one folder for each hierarchy
// with cgroup v1.
func hierarchies() ([]string, error) {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}, nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, entry := range entries {
		// A symbolic link is only a second name of a hierarchy.
		if entry.IsDir() {
			folders = append(folders, filepath.Join(root, entry.Name()))
		}
	}
	return folders, nil
}

func (c *cluster) removeCgroups() error {
	folders, err := hierarchies()
	if err != nil {
		return err
	}
	var failures []error
	for _, folder := range folders {
		failures = append(failures, removeCgroup(filepath.Join(folder, c.cgroup())))
	}
	return errors.Join(failures...)
}

// removeCgroup removes a cgroup and those below it, the deepest first. It removes only folders, because the files in a cgroup cannot be
// removed, and vanish with the folder.
func removeCgroup(root string) error {
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, folder := range slices.Backward(folders) {
		if err := unix.Rmdir(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the cgroup %s: %w", folder, err)
		}
	}
	return nil
}
