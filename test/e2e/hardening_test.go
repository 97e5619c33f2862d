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

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

var _ = Describe("A node gives an attacker little", func() {
	It("runs where Pod Security admits only restricted pods, and refuses what only attackers and administrators ask for", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		pod := k8s.Pods(ctx, k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 1))[0]
		_, err := k8s.TryKubectl(ctx, "run", "intruder", "--namespace", pod.Namespace, "--image", pod.Spec.Containers[0].Image, "--privileged")
		Expect(err).To(MatchError(And(ContainSubstring(`violates PodSecurity "restricted`), ContainSubstring("privileged"))))
		node := k8s.ConnectTo(ctx, traffic.Address(&pod))
		for command, reply := range map[string]string{
			"shutdown":                 "SERVER_ERROR: shutdown not enabled",
			"watch fetchers":           "CLIENT_ERROR watch commands not allowed",
			"stats cachedump 1 100":    "CLIENT_ERROR stats cachedump not allowed",
			"stats detail on":          "CLIENT_ERROR stats detail not allowed",
			"lru_crawler metadump all": "ERROR metadump not allowed",
			"lru_crawler mgdump all":   "ERROR key dump not allowed",
		} {
			Expect(node.Command(ctx, command)).To(Equal(reply))
			Expect(node.Command(ctx, "mn")).To(Equal("MN"), "the node serves on")
		}
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
