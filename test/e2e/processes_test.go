// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/clustertest"
)

// process is a process of the local cluster. The suite sees these processes, because it runs in the same process namespace.
type process struct {
	pid int
	// executable is the path of the program's file, as the process sees it.
	executable string
}

func theOne(found []process, what string) process {
	GinkgoHelper()
	Expect(found).To(HaveLen(1), what)
	return found[0]
}

func memcachedOf(pod *corev1.Pod) process {
	GinkgoHelper()
	return theOne(processesOf("memcached", "pod"+string(pod.UID)), "processes of memcached in pod "+pod.Name)
}

// managersOf returns the processes of the operator in a pod: one, or none while its container is being restarted.
func managersOf(pod *corev1.Pod) []process {
	GinkgoHelper()
	return processesOf("manager", "pod"+string(pod.UID))
}

// processesOf returns the processes whose program has this file name, and whose cgroup path contains this text.
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

// runs reports whether the process still runs. An ended process has no executable file, even if its parent has not reaped it.
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

// invocation is how a process was started, so that it can be started again.
type invocation struct {
	path, dir, log string
	args, env      []string
}

// invocation returns how the process was started. The output of the process must go to a file.
func (p process) invocation() invocation {
	GinkgoHelper()
	link := func(name string) string { return clustertest.Must(os.Readlink(p.file(name))) }
	list := func(name string) []string {
		content := clustertest.Must(os.ReadFile(p.file(name)))
		return strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
	}
	return invocation{path: p.executable, dir: link("cwd"), log: link("fd/1"), args: list("cmdline"), env: list("environ")}
}

// start starts the process again, and appends its output to the same file. The process belongs to the cluster, and outlives the suite.
func (i invocation) start() {
	GinkgoHelper()
	log := clustertest.Must(os.OpenFile(i.log, os.O_WRONLY|os.O_APPEND, 0))
	defer log.Close()
	cmd := &exec.Cmd{
		Path: i.path, Args: i.args, Env: i.env, Dir: i.dir, Stdout: log, Stderr: log,
		// A Ctrl-C in the terminal of the suite must not end this process.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	Expect(cmd.Start()).To(Succeed())
	go func() { _ = cmd.Wait() }() // reap the process if the suite kills it once more
}

// restartKubelet kills the kubelet of the local cluster and starts it again. Containers keep running.
func restartKubelet(ctx context.Context) {
	GinkgoHelper()
	kubelet := theOne(processesOf("kubelet", ""), "kubelets")
	invocation := kubelet.invocation()
	kubelet.signal(syscall.SIGKILL)
	Eventually(ctx, kubelet.runs).Should(BeFalse())
	invocation.start()
}

// scaleOperator sets the number of the operator's replicas. At the end of the spec, it sets the number to one.
func scaleOperator(ctx context.Context, replicas int) {
	GinkgoHelper()
	resize := func(ctx context.Context, replicas int) {
		GinkgoHelper()
		k8s.Kubectl(ctx, "--namespace", operatorNamespace, "scale", "deployment", operatorDeployment,
			fmt.Sprint("--replicas=", replicas))
		untilOperators(ctx, replicas)
	}
	resize(ctx, replicas)
	DeferCleanup(func(ctx SpecContext) { resize(ctx, 1) })
}

// replaceOperator starts the operator in a new pod. In the old pod, the kubelet would delay each further restart longer.
func replaceOperator(ctx context.Context) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "--namespace", operatorNamespace, "delete", "pod", "--selector", "control-plane=controller-manager")
	untilOperators(ctx, 1)
}

// untilOperators waits until the operator has exactly this number of pods, and each is ready and runs.
func untilOperators(ctx context.Context, replicas int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := operatorPods(ctx, g)
		g.Expect(pods).To(HaveLen(replicas))
		for i := range pods {
			g.Expect(clustertest.Ready(&pods[i])).To(BeTrue(), "pod %s must be ready", pods[i].Name)
			if clusterDir != "" {
				// The pod stays ready until Kubernetes notices the end of the container.
				g.Expect(managersOf(&pods[i])).To(HaveLen(1), "processes in pod %s", pods[i].Name)
			}
		}
	}).Should(Succeed())
}

func operatorPods(ctx context.Context, g Gomega) []corev1.Pod {
	pods, err := k8s.OperatorPods(ctx, operatorNamespace)
	g.Expect(err).NotTo(HaveOccurred())
	return pods
}

// leader returns the pod of the operator that holds the lease.
func leader(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(ctx, func(g Gomega) {
		lease := coordinationv1.Lease{}
		lease.Namespace, lease.Name = operatorNamespace, "memcached-operator.cache.example.com"
		g.Expect(k8s.Reread(ctx, &lease)).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
		holder, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: holder}, &pod)).To(Succeed())
	}).Should(Succeed())
	return &pod
}

func managerOf(pod *corev1.Pod) process {
	GinkgoHelper()
	return theOne(managersOf(pod), "processes of the operator in pod "+pod.Name)
}

// writesOf returns the write requests for a namespace that this pod of the operator has sent since a time.
func writesOf(pod *corev1.Pod, namespace string, since time.Time) []string {
	GinkgoHelper()
	var writes []string
	for event := range requestsOf(operatorUser(operatorNamespace), since) {
		sender := event.User.Extra["authentication.kubernetes.io/pod-name"]
		if slices.Contains(sender, pod.Name) && isWrite(event) && event.ObjectRef != nil && event.ObjectRef.Namespace == namespace {
			writes = append(writes, event.Verb+" "+event.RequestURI)
		}
	}
	return writes
}
