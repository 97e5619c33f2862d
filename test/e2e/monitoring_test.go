// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

var _ = Describe("A user who monitors a cache", Label(onLocalCluster), func() {
	It("sees a node that hangs leave the DNS, and return with all its keys", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		mc := k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), 2, clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet))
		full := k8s.Fill(ctx, mc, 1000)
		pod := k8s.Pods(ctx, mc)[0]
		memcached := memcachedOf(&pod)
		DeferCleanup(func() { memcached.signal(syscall.SIGCONT) }) // a stopped process does not handle SIGTERM

		memcached.signal(syscall.SIGSTOP)
		began := time.Now()
		k8s.UntilCondition(ctx, mc, cachev1alpha1.ConditionDegraded, And(
			HaveField("Reason", cachev1alpha1.ReasonNodesUnresponsive), HaveField("Message", ContainSubstring(pod.Name))))
		degraded := time.Since(began)
		Eventually(ctx, func() ([]string, error) {
			return resolver().LookupHost(ctx, nodesOf(mc.Name)+"."+mc.Namespace+".svc.cluster.local")
		}).
			ShouldNot(ContainElement(pod.Status.PodIP))
		gone := time.Since(began)
		var g Gomega = NewGomega(Fail)
		Expect(k8s.Condition(ctx, g, mc, cachev1alpha1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue), "one may be away")
		Expect(scrape(ctx, agentOf(&pod))).To(ContainSubstring("\nmemcached_up 0\n"))
		_, reason := get(ctx, agentOf(&pod)+"/readyz", "")
		Expect(reason).To(ContainSubstring("no answer within 1s"))
		alive, _ := get(ctx, agentOf(&pod)+"/livez", "")
		Expect(alive).To(Equal(http.StatusOK))

		memcached.signal(syscall.SIGCONT)
		began = time.Now()
		k8s.UntilReady(ctx, mc)
		back := time.Since(began)
		AddReportEntry("A node that hangs", fmt.Sprintf("Degraded after %s, out of the DNS after %s, Ready again after %s",
			seconds(degraded), seconds(gone), seconds(back)), ReportEntryVisibilityAlways)
		full.MustBeUntouched(ctx)
	})
})

func agentOf(pod *corev1.Pod) string { return "http://" + net.JoinHostPort(pod.Status.PodIP, "9150") }
