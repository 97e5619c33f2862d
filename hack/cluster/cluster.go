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

// Addresses in the cluster. All clusters use the same addresses, because each has its own network namespace.
const (
	nodeName    = "node"
	nodeIP      = "192.168.99.1"
	podCIDR     = "10.244.0.0/16"
	serviceCIDR = "10.96.0.0/16"
	// kubernetesIP is the first address of serviceCIDR, which Kubernetes reserves for its own Service.
	kubernetesIP = "10.96.0.1"
	dnsIP        = "10.96.0.10"
	apiServerURL = "https://127.0.0.1:6443"
)

type cluster struct {
	name string
	// root is the root of the repository.
	root string
	// out receives the output for users.
	out io.Writer
	// dir contains all files of the cluster: credentials, configuration, logs and data.
	dir string
}

// open returns the cluster with this name, which need not exist. It fails if the user is not root, or if the working directory is not the
// root of the repository.
func open(name string) (*cluster, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "hack", "cluster")); err != nil {
		return nil, errors.New("run this in the root of the repository")
	}
	if os.Getuid() != 0 {
		return nil, errors.New("the local cluster needs root, for namespaces and containers; without it, use kind or minikube")
	}
	return &cluster{name: name, root: root, out: os.Stdout, dir: filepath.Join(root, "bin", "clusters", name)}, nil
}

func (c *cluster) file(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) binary(name string) string { return filepath.Join(c.root, "bin", "kubernetes", name) }

func (c *cluster) kubeconfig() string { return c.file("admin.kubeconfig") }

// cgroup returns the path of the cgroup of all containers, relative to the root of each cgroup hierarchy.
func (c *cluster) cgroup() string { return "memcached-operator-" + c.name }

// firstPID returns the process ID of the first process in the cluster's namespaces, as seen from outside of them. It returns 0 if the
// cluster does not run.
func (c *cluster) firstPID() int {
	content, err := os.ReadFile(c.file("pid"))
	if err != nil {
		return 0
	}
	pid, started, _ := strings.Cut(strings.TrimSpace(string(content)), " ")
	id, err := strconv.Atoi(pid)
	if err != nil || started == "" || startTime(id) != started {
		return 0
	}
	return id
}

// notePID records the first process of the cluster for firstPID. It also records the start time, because the kernel reuses process IDs.
func (c *cluster) notePID(pid int) error {
	return os.WriteFile(c.file("pid"), fmt.Appendf(nil, "%d %s\n", pid, startTime(pid)), 0o600)
}

// startTime returns the start time of a process: field 22 of /proc/PID/stat, see proc_pid_stat(5). It returns "" if there is no
// such process, or if the process is a zombie.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field is a name in parentheses and may contain any characters.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const state, started = 0, 19
	if len(fields) <= started || fields[state] == "Z" {
		return ""
	}
	return fields[started]
}

// exec runs a command in the namespaces of the cluster, in the caller's working directory.
func (c *cluster) exec(ctx context.Context, command []string) error {
	pid := c.firstPID()
	if pid == 0 {
		return fmt.Errorf("the cluster %s does not run: start it with make cluster-up", c.name)
	}
	// On Ctrl-C, the terminal sends SIGINT to this process, to nsenter and to the command. The command decides how to end, and the
	// other two wait for it. So this process ignores SIGINT. nsenter inherits this, and env restores the default for the command.
	signal.Ignore(os.Interrupt)
	args := []string{
		"--target", strconv.Itoa(pid), "--net", "--mount", "--pid", "--uts", "--ipc", "--",
		"env", "--default-signal=INT", "--chdir=" + c.root,
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(args, command...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = c.environment()
	// SIGTERM and SIGHUP end ctx, but must not kill the command.
	cmd.Cancel = func() error { return os.ErrProcessDone }
	return cmd.Run()
}

// environment returns the caller's environment, with the cluster's kubectl and kubeconfig.
func (c *cluster) environment() []string {
	return append(os.Environ(),
		"KUBECONFIG="+c.kubeconfig(), "KUBECACHEDIR="+c.file("kubectl"), "PATH="+c.binary("")+":"+os.Getenv("PATH"))
}
