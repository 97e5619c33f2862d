// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/clustertest"
)

// scaleOperator changes the number of operators until the spec ends.
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

// replaceOperator starts the operator in a new pod: the old one may have to wait for ever longer before it restarts.
func replaceOperator(ctx context.Context) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "--namespace", operatorNamespace, "delete", "pod", "--selector", "control-plane=controller-manager")
	untilOperators(ctx, 1)
}

// untilOperators waits until exactly so many operators exist, and each is ready and runs.
func untilOperators(ctx context.Context, replicas int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := operatorPods(ctx, g)
		g.Expect(pods).To(HaveLen(replicas))
		for i := range pods {
			g.Expect(clustertest.Ready(&pods[i])).To(BeTrue(), "pod %s must be ready", pods[i].Name)
			if clusterDir != "" {
				// The status says ready until Kubernetes notices the end of the container.
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

// managerOf returns the process of the operator in a pod.
func managerOf(pod *corev1.Pod) process {
	GinkgoHelper()
	return theOne(managersOf(pod), "processes of the operator in pod "+pod.Name)
}

// writesOf returns the writes of a pod of the operator in a namespace since a time.
func writesOf(pod *corev1.Pod, namespace string, since time.Time) []string {
	GinkgoHelper()
	var writes []string
	for event := range requestsOf(operatorUser(operatorNamespace), since) {
		if podOf(event) == pod.Name && isWrite(event) && event.ObjectRef != nil && event.ObjectRef.Namespace == namespace {
			writes = append(writes, event.Verb+" "+event.RequestURI)
		}
	}
	return writes
}
