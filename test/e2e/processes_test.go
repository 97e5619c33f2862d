// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/clustertest"
)

// process is a process of the local cluster: the suite runs in its process namespace.
type process struct {
	pid int
	// executable is the path of its file, as the process sees it.
	executable string
}

// apiServer returns the process of the API server.
func apiServer() process {
	GinkgoHelper()
	return theOne(processesOf("kube-apiserver", ""), "processes of the API server")
}

func theOne(found []process, what string) process {
	GinkgoHelper()
	Expect(found).To(HaveLen(1), what)
	return found[0]
}

// managersOf returns the processes of the operator in a pod: one, or none while its container is being restarted.
func managersOf(pod *corev1.Pod) []process {
	GinkgoHelper()
	return processesOf("manager", "pod"+string(pod.UID))
}

// processesOf returns the processes that run a file of this name in a cgroup whose path contains this text.
func processesOf(file, cgroup string) []process {
	GinkgoHelper()
	var found []process
	for _, folder := range clustertest.Must(filepath.Glob("/proc/[0-9]*")) {
		p := process{pid: clustertest.Must(strconv.Atoi(filepath.Base(folder)))}
		// Unreadable files belong to processes that have ended meanwhile.
		p.executable, _ = os.Readlink(p.file("exe"))
		cgroups, _ := os.ReadFile(p.file("cgroup"))
		if filepath.Base(p.executable) == file && bytes.Contains(cgroups, []byte(cgroup)) {
			found = append(found, p)
		}
	}
	return found
}

func (p process) file(name string) string { return fmt.Sprintf("/proc/%d/%s", p.pid, name) }

// runs reports whether the process still runs. After its end it has no file, even before its parent takes note.
func (p process) runs() bool {
	executable, _ := os.Readlink(p.file("exe"))
	return executable == p.executable
}

// signal sends a signal to the process unless it has ended.
func (p process) signal(signal syscall.Signal) {
	GinkgoHelper()
	fmt.Fprintf(GinkgoWriter, "%s is sent to process %d, %s\n", signal, p.pid, p.executable)
	if err := syscall.Kill(p.pid, signal); !errors.Is(err, syscall.ESRCH) {
		Expect(err).NotTo(HaveOccurred())
	}
}

// invocation is how a process was started, for starting it again.
type invocation struct {
	path, dir, log string
	args, env      []string
}

// invocation returns how the process was started. Its output goes to a file.
func (p process) invocation() invocation {
	GinkgoHelper()
	link := func(name string) string { return clustertest.Must(os.Readlink(p.file(name))) }
	list := func(name string) []string {
		content := clustertest.Must(os.ReadFile(p.file(name)))
		return strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
	}
	return invocation{path: p.executable, dir: link("cwd"), log: link("fd/1"), args: list("cmdline"), env: list("environ")}
}

// start starts the process again and appends its output to the same file. It belongs to the cluster and outlives the suite.
func (i invocation) start() {
	GinkgoHelper()
	log := clustertest.Must(os.OpenFile(i.log, os.O_WRONLY|os.O_APPEND, 0))
	defer log.Close()
	cmd := &exec.Cmd{
		Path: i.path, Args: i.args, Env: i.env, Dir: i.dir, Stdout: log, Stderr: log,
		// A Ctrl-C in the terminal of the suite is not for it.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	Expect(cmd.Start()).To(Succeed())
	go func() { _ = cmd.Wait() }() // reaps it if the suite ends it once more
}
