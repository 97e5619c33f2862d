// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// All specs share one Memcached, and change only its items.
var _ = Describe("A node gives an attacker little", Ordered, ContinueOnFailure, func() {
	var (
		pod  corev1.Pod
		node *traffic.Conn
	)

	BeforeAll(func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		Expect(k8s.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orders"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})).To(Succeed())
		mc := k8s.NewMemcached(ctx, namespace, 1)
		pod = k8s.Pods(ctx, mc)[0]
		node = k8s.ConnectTo(ctx, traffic.Address(&pod))
	}, NodeTimeout(2*time.Minute))

	It("refuses what only attackers and administrators ask for, but for flush_all", SpecTimeout(time.Minute), func(ctx SpecContext) {
		for command, reply := range map[string]string{
			"shutdown":                 "SERVER_ERROR: shutdown not enabled",
			"watch fetchers":           "CLIENT_ERROR watch commands not allowed",
			"stats cachedump 1 100":    "CLIENT_ERROR stats cachedump not allowed",
			"stats detail on":          "CLIENT_ERROR stats detail not allowed",
			"lru_crawler metadump all": "ERROR metadump not allowed",
			"lru_crawler mgdump all":   "ERROR key dump not allowed",
			"flush_all":                "OK",
		} {
			Expect(node.Command(ctx, command)).To(Equal(reply))
			Expect(node.Command(ctx, "mn")).To(Equal("MN"), "the node serves on")
		}
	})

	It("has no UDP socket, root, capabilities, writable file system or credentials", SpecTimeout(time.Minute), func(ctx SpecContext) {
		for _, family := range []string{"udp", "udp6"} {
			sockets := strings.Split(strings.TrimSpace(execute(ctx, &pod, "cat", "/proc/1/net/"+family)), "\n")
			Expect(sockets[0]).To(ContainSubstring("local_address"))
			Expect(sockets[1:]).To(BeEmpty())
		}

		Expect(execute(ctx, &pod, "id", "-u")).To(Equal("11211\n"))
		process := fieldsOf(execute(ctx, &pod, "cat", "/proc/1/status"))
		Expect(process).To(HaveKeyWithValue("Name", "memcached"))
		Expect(process).To(HaveKeyWithValue("Uid", "11211 11211 11211 11211"))
		Expect(process).To(HaveKeyWithValue("Gid", "11211 11211 11211 11211"))
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			Expect(process).To(HaveKeyWithValue(set, "0000000000000000"))
		}
		Expect(process).To(HaveKeyWithValue("NoNewPrivs", "1"))
		const filtered = "2" // see proc_pid_status(5)
		Expect(process).To(HaveKeyWithValue("Seccomp", filtered))

		for _, folder := range []string{"/", "/etc/", "/usr/bin/"} {
			_, err := tryExecute(ctx, &pod, "touch", folder+"intruder")
			Expect(err).To(MatchError(ContainSubstring("Read-only file system")))
		}

		_, err := tryExecute(ctx, &pod, "ls", "/var/run/secrets/kubernetes.io/serviceaccount")
		Expect(err).To(MatchError(ContainSubstring("No such file or directory")))
		environment := execute(ctx, &pod, "cat", "/proc/1/environ")
		Expect(environment).To(ContainSubstring("HOSTNAME=" + pod.Name))
		Expect(environment).NotTo(ContainSubstring("ORDERS_"))
	})

	It("runs where Pod Security admits only restricted pods, and refuses others", SpecTimeout(time.Minute), func(ctx SpecContext) {
		image := pod.Spec.Containers[0].Image
		_, err := k8s.TryKubectl(ctx, "run", "intruder", "--namespace", pod.Namespace, "--image", image, "--privileged")
		Expect(err).To(MatchError(And(ContainSubstring(`violates PodSecurity "restricted`), ContainSubstring("privileged"))))
	})
})

func execute(ctx context.Context, pod *corev1.Pod, command ...string) string {
	GinkgoHelper()
	return clustertest.Must(tryExecute(ctx, pod, command...))
}

// tryExecute runs a command in the first container of a pod, and returns its output. The error includes the output.
func tryExecute(ctx context.Context, pod *corev1.Pod, command ...string) (string, error) {
	return k8s.TryKubectl(ctx, append([]string{"exec", "--namespace", pod.Namespace, pod.Name, "--"}, command...)...)
}

// fieldsOf parses the text of /proc/PID/status, and returns the values by name.
func fieldsOf(status string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}
