// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// isolate prepares the namespaces in which boot already runs, and the cgroup of the containers.
func (b *booting) isolate(ctx context.Context) error {
	if err := b.mount(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(nodeName)); err != nil {
		return err
	}
	if err := b.network(ctx); err != nil {
		return err
	}
	return b.makeCgroups()
}

// mount gives the cluster its own /proc, /run, /var/lib, /var/log and resolv.conf. The cluster shares the rest of the file system
// with the machine.
func (b *booting) mount() error {
	// From here on, mounts do not affect the machine.
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	// This must precede the mount that hides /run: with some resolvers, /etc/resolv.conf is a link to a file in /run.
	resolvConf, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	for target, source := range map[string]string{"/var/lib": "var-lib", "/var/log": "var-log"} {
		if err := os.MkdirAll(b.file(source), 0o755); err != nil {
			return err
		}
		if err := bind(b.file(source), target); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/var/lib/kubelet", 0o750); err != nil {
		return err
	}
	return b.mountResolvConf(resolvConf)
}

// mountResolvConf replaces /etc/resolv.conf, so that names of Services resolve as in a pod. If that is a link, target is the file to which
// it leads.
func (b *booting) mountResolvConf(target string) error {
	content := "nameserver " + dnsIP + "\nsearch default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
	if err := os.WriteFile(b.file("resolv.conf"), []byte(content), 0o644); err != nil {
		return err
	}
	if strings.HasPrefix(target, "/run/") {
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, []byte(content), 0o644)
	}
	return bind(b.file("resolv.conf"), target)
}

func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", target, err)
	}
	return nil
}

// network creates the network interface of the node. It is a bridge without ports, because every kernel supports bridges.
func (b *booting) network(ctx context.Context) error {
	for _, command := range []string{
		"link set lo up",
		"link add eth0 type bridge",
		"address add " + nodeIP + "/24 dev eth0",
		"link set eth0 up",
		"route add default dev eth0",
	} {
		if err := b.command(ctx, "ip", strings.Fields(command)...); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// makeCgroups creates the cgroup in which the kubelet creates the cgroups of pods, and makes all controllers available there.
func (b *booting) makeCgroups() error {
	folders, err := hierarchies()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		path := filepath.Join(folder, b.cgroup())
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		for _, v2 := range []string{folder, path} {
			if err := delegateControllers(v2); err != nil {
				return err
			}
		}
	}
	return nil
}

// delegateControllers makes all controllers of a cgroup available in the cgroups below it. With cgroup v1, they already are.
func delegateControllers(path string) error {
	available, err := os.ReadFile(filepath.Join(path, "cgroup.controllers"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(available)) {
		if err := os.WriteFile(filepath.Join(path, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return fmt.Errorf("delegating the controller %s: %w", controller, err)
		}
	}
	return nil
}
