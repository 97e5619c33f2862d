// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

// Addresses of the cluster. Only its own network namespace has them, so that every cluster uses the same.
const (
	nodeName    = "node"
	nodeIP      = "192.168.99.1"
	podCIDR     = "10.244.0.0/16"
	serviceCIDR = "10.96.0.0/16"
	// kubernetesIP is the first address of serviceCIDR, which Kubernetes gives to itself.
	kubernetesIP = "10.96.0.1"
	dnsIP        = "10.96.0.10"
	apiServerURL = "https://127.0.0.1:6443"
)

// cluster is a cluster that may or may not run.
type cluster struct {
	name string
	// root is the root of the repository.
	root string
	// out receives what users read.
	out io.Writer
	// dir holds everything that the cluster keeps: credentials, configuration, logs, data.
	dir string
}

// open finds the files of a cluster. It must be called in the root of the repository, by root.
func open(name string) (*cluster, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "hack", "cluster")); err != nil {
		return nil, errors.New("run this in the root of the repository")
	}
	if os.Getuid() != 0 {
		return nil, errors.New("the local cluster needs root, for namespaces and containers; " +
			"without it make demo simulates nodes, and kind or minikube give you real ones")
	}
	return &cluster{name: name, root: root, out: os.Stdout, dir: filepath.Join(root, "bin", "clusters", name)}, nil
}

func (c *cluster) file(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) binary(name string) string { return filepath.Join(c.root, "bin", "kubernetes", name) }

func (c *cluster) kubeconfig() string { return c.file("admin.kubeconfig") }

// cgroup is where all containers of the cluster are, relative to the root of each cgroup hierarchy.
func (c *cluster) cgroup() string { return "memcached-operator-" + c.name }

// firstPID is the process id, seen from outside, of the first process of the cluster's namespaces; 0 if it does not run.
func (c *cluster) firstPID() int {
	content, err := os.ReadFile(c.file("pid"))
	if err != nil {
		return 0
	}
	pid, started, _ := strings.Cut(strings.TrimSpace(string(content)), " ")
	id, err := strconv.Atoi(pid)
	if err != nil || startTime(id) != started {
		return 0
	}
	return id
}

// notePID records the first process with its start time, since the kernel uses process ids again.
func (c *cluster) notePID(pid int) error {
	return os.WriteFile(c.file("pid"), fmt.Appendf(nil, "%d %s\n", pid, startTime(pid)), 0o600)
}

// startTime is field 22 of /proc/PID/stat, see proc_pid_stat(5), and empty when there is no such process or it is a zombie.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field is a name in parentheses that may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const state, started = 0, 19
	if len(fields) <= started || fields[state] == "Z" {
		return ""
	}
	return fields[started]
}

// exec runs a command in the namespaces of the cluster and in the working directory of the caller.
func (c *cluster) exec(ctx context.Context, command []string) error {
	pid := c.firstPID()
	if pid == 0 {
		return fmt.Errorf("the cluster %s does not run: start it with make cluster-up", c.name)
	}
	// The terminal sends Ctrl-C to the command, which decides how to end. nsenter must not end before it, so it ignores Ctrl-C as
	// this process does; env restores the default for the command.
	signal.Ignore(os.Interrupt)
	args := []string{
		"--target", strconv.Itoa(pid), "--net", "--mount", "--pid", "--uts", "--ipc", "--",
		"env", "--default-signal=INT", "--chdir=" + c.root,
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(args, command...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = c.environment()
	// The command also decides how to end when this process is terminated.
	cmd.Cancel = func() error { return os.ErrProcessDone }
	return cmd.Run()
}

// environment is that of the caller, with the cluster's kubectl and its configuration.
func (c *cluster) environment() []string {
	return append(os.Environ(),
		"KUBECONFIG="+c.kubeconfig(), "KUBECACHEDIR="+c.file("kubectl"), "PATH="+c.binary("")+":"+os.Getenv("PATH"))
}
