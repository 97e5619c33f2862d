// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/traffic"
)

// The suite has run make deploy. These are the next steps of the README, in their order.
var _ = Describe("A user who has installed the operator", Ordered, func() {
	var (
		namespace string
		mc        *cachev1alpha1.Memcached
	)

	BeforeAll(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		kubectl(ctx, "apply", "--namespace", namespace, "--filename", "config/samples/cache_v1alpha1_memcached.yaml")
		kubectl(ctx, "wait", "--namespace", namespace, "--for=condition=Ready", "memcached/memcached-sample", "--timeout=2m")
		mc = &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-sample"}}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
	}, NodeTimeout(3*time.Minute))

	It("can use every node as soon as the Memcached is Ready", SpecTimeout(time.Minute), func(ctx SpecContext) {
		Expect(mc.Status.Nodes).To(HaveLen(3))
		for _, server := range serversOf(ctx, mc) {
			node := newClient([]traffic.Server{server})
			Expect(node.Write(ctx, 10, 100)).To(Succeed())
			Expect(node.Read(ctx, 10)).To(Equal(traffic.Hits{Keys: 10, Hits: 10}), server.Name)
		}
		cache := newClient(serversOf(ctx, mc))
		Expect(cache.Write(ctx, 1000, 100)).To(Succeed())
		Expect(cache.Read(ctx, 1000)).To(Equal(traffic.Hits{Keys: 1000, Hits: 1000}))
	})

	It("sees it with kubectl get memc", SpecTimeout(time.Minute), func(ctx SpecContext) {
		header, row := columns(kubectl(ctx, "get", "memc", "--namespace", namespace))
		Expect(header).To(Equal([]string{"NAME", "SIZE", "READY", "AVAILABLE", "AGE"}))
		Expect(row[:4]).To(Equal([]string{"memcached-sample", "3", "True", "True"}))
		header, row = columns(kubectl(ctx, "get", "memc", "memcached-sample", "--namespace", namespace, "-o", "wide"))
		Expect(header[5:]).To(Equal([]string{"IMAGE", "MEMORY"}))
		Expect(row[5:]).To(Equal([]string{mc.Status.Image, "64Mi"}))
	})

	It("reads what each field means with kubectl explain", SpecTimeout(time.Minute), func(ctx SpecContext) {
		Expect(kubectl(ctx, "explain", "memc.spec")).To(MatchRegexp(`size\s+<integer> -required-\s+size is the number of memcached nodes`))
		Expect(kubectl(ctx, "explain", "memc.spec.config.memory")).To(ContainSubstring("memory is the memory for items on each node"))
		Expect(kubectl(ctx, "explain", "memc.status.nodes")).To(ContainSubstring("nodes are the names of the pods, sorted"))
	})

	It("finds the nodes in DNS", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		service := fmt.Sprintf("%s.%s.svc.cluster.local", mc.Status.ServiceName, namespace)
		var addresses []string
		for _, server := range serversOf(ctx, mc) {
			ip, _, err := net.SplitHostPort(server.Address)
			Expect(err).NotTo(HaveOccurred())
			addresses = append(addresses, ip)
		}
		Eventually(ctx, func() ([]string, error) { return lookup(ctx, service) }).Should(ConsistOf(addresses))

		_, records, err := resolver().LookupSRV(ctx, "memcached", "tcp", service)
		Expect(err).NotTo(HaveOccurred())
		var announced []string
		for _, record := range records {
			Expect(record.Port).To(BeEquivalentTo(memcachedPort))
			ips, err := lookup(ctx, record.Target)
			Expect(err).NotTo(HaveOccurred())
			announced = append(announced, ips...)
		}
		Expect(announced).To(ConsistOf(addresses))
	})

	DescribeTable("scales it with kubectl scale", func(ctx SpecContext, nodes int) {
		kubectl(ctx, "scale", "--namespace", namespace, "memc/memcached-sample", fmt.Sprintf("--replicas=%d", nodes))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
		Expect(mc.Spec.Size).To(BeEquivalentTo(nodes))
		untilReady(ctx, mc)
		var names []string
		for _, pod := range podsOf(ctx, mc) {
			names = append(names, pod.Name)
		}
		Expect(names).To(HaveLen(nodes))
		Expect(mc.Status.Nodes).To(Equal(names))
	},
		Entry("up", SpecTimeout(3*time.Minute), 4),
		Entry("down", SpecTimeout(3*time.Minute), 2),
	)

	It("removes all of it with kubectl delete memc, and clients notice in time", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		pod := podsOf(ctx, mc)[0]
		node, err := traffic.Connect(ctx, dial, addressOf(&pod))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _ = node.Close() })
		Expect(node.Command(ctx, "mn")).To(Equal("MN"))
		Expect(remains(ctx, namespace)).To(ContainElements("service/memcached-sample", "deployment.apps/memcached-sample",
			"poddisruptionbudget.policy/memcached-sample", "pod/"+pod.Name))

		kubectl(ctx, "delete", "memc", "memcached-sample", "--namespace", namespace)
		gracePeriod := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
		Eventually(ctx, func() error {
			_, err := node.Command(ctx, "mn")
			return err
		}).WithTimeout(gracePeriod).Should(HaveOccurred())
		Eventually(ctx, func() []string { return remains(ctx, namespace) }).Should(BeEmpty())
	})
})

var _ = Describe("The samples", func() {
	It("are Ready on a small cluster as well", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		kubectl(ctx, "apply", "--namespace", namespace, "--kustomize", "config/samples")
		kubectl(ctx, "wait", "--namespace", namespace, "--for=condition=Ready", "memcached", "--all", "--timeout=3m")
		var samples cachev1alpha1.MemcachedList
		Expect(k8s.List(ctx, &samples, client.InNamespace(namespace))).To(Succeed())
		Expect(samples.Items).To(HaveLen(3))
		for _, mc := range samples.Items {
			cache := newClient(serversOf(ctx, &mc))
			Expect(cache.Write(ctx, 100, 100)).To(Succeed(), mc.Name)
			Expect(cache.Read(ctx, 100)).To(Equal(traffic.Hits{Keys: 100, Hits: 100}), mc.Name)
		}
	})
})

var _ = Describe("The operator itself", func() {
	It("runs its image without root and cannot write to its file system", Label(onLocalCluster), SpecTimeout(time.Minute), func(ctx SpecContext) {
		pod := operatorPod(ctx)
		Expect(pod.Spec.Containers[0].Image).To(Equal(operatorImage))
		managers := managersOf(&pod)
		Expect(managers).To(HaveLen(1))
		Expect(managers[0].executable).To(Equal("/manager"), "the entry point of the Dockerfile")
		status, err := os.ReadFile(managers[0].file("status"))
		Expect(err).NotTo(HaveOccurred())
		Expect(fieldsOf(string(status))).To(And(
			HaveKeyWithValue("Uid", "65532 65532 65532 65532"), // the user of the Dockerfile: the manifest names none
			HaveKeyWithValue("CapEff", "0000000000000000"),
			HaveKeyWithValue("NoNewPrivs", "1"),
		))
		// Not even root of the machine can.
		Expect(os.WriteFile(managers[0].file("root/intruder"), nil, 0o600)).To(MatchError(ContainSubstring("read-only file system")))
	})

	It("says that it is well", SpecTimeout(time.Minute), func(ctx SpecContext) {
		pod := operatorPod(ctx)
		for _, path := range []string{"/healthz", "/readyz"} {
			status, body := get(ctx, "http://"+net.JoinHostPort(pod.Status.PodIP, "8081")+path, "")
			Expect(status).To(Equal(http.StatusOK))
			Expect(body).To(Equal("ok"))
		}
	})

	It("shows its metrics to those who have the role for it", SpecTimeout(2*time.Minute), func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		newMemcached(ctx, namespace, 0)
		metrics := "https://" + metricsAddress(ctx) + "/metrics"
		status, _ := get(ctx, metrics, "")
		Expect(status).To(Equal(http.StatusUnauthorized))
		status, body := get(ctx, metrics, "a-token-of-nobody")
		Expect(status).To(BeNumerically(">=", http.StatusBadRequest))
		Expect(body).NotTo(ContainSubstring("memcached_operator"))

		kubectl(ctx, "create", "serviceaccount", "stranger", "--namespace", namespace)
		status, _ = get(ctx, metrics, tokenOf(ctx, namespace, "stranger"))
		Expect(status).To(Equal(http.StatusForbidden))

		kubectl(ctx, "create", "serviceaccount", "prometheus", "--namespace", namespace)
		letReadMetrics(ctx, namespace, "prometheus")
		status, body = get(ctx, metrics, tokenOf(ctx, namespace, "prometheus"))
		Expect(status).To(Equal(http.StatusOK))
		Expect(body).To(ContainSubstring(
			`memcached_operator_memcached_condition{condition="Ready",name="cache",namespace="` + namespace + `",status="True"} 1`))
		Expect(body).To(ContainSubstring(`controller_runtime_reconcile_total{controller="memcached"`))
	})
})

// columns splits what kubectl get prints of one object into the headings and the values.
func columns(output string) (header, row []string) {
	GinkgoHelper()
	lines := strings.Split(strings.TrimSpace(output), "\n")
	Expect(lines).To(HaveLen(2))
	return strings.Fields(lines[0]), strings.Fields(lines[1])
}

// remains are the objects of a namespace that a Memcached leads to.
func remains(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	return strings.Fields(kubectl(ctx, "get", "--namespace", namespace, "-o", "name",
		"memcached,service,deployment,replicaset,pod,poddisruptionbudget,endpointslice"))
}

// operatorPod returns the pod of the operator.
func operatorPod(ctx context.Context) corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(Succeed())
	Expect(pods.Items).To(HaveLen(1))
	return pods.Items[0]
}

// metricsAddress is where the Service of the metrics leads to.
func metricsAddress(ctx context.Context) string {
	GinkgoHelper()
	address := kubectl(ctx, "get", "endpointslices", "--namespace", operatorNamespace,
		"--selector", "kubernetes.io/service-name="+operatorDeployment+"-metrics-service",
		"-o", "jsonpath={.items[*].endpoints[*].addresses[0]}:{.items[*].ports[*].port}")
	Expect(address).To(Equal(net.JoinHostPort(operatorPod(ctx).Status.PodIP, "8443")))
	return address
}

// tokenOf makes a token of a service account.
func tokenOf(ctx context.Context, namespace, account string) string {
	GinkgoHelper()
	return strings.TrimSpace(kubectl(ctx, "create", "token", account, "--namespace", namespace))
}

// letReadMetrics gives a service account the role that the installation has for the metrics.
func letReadMetrics(ctx context.Context, namespace, account string) {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "memcached-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
	Expect(k8s.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, binding)).To(Succeed()) })
	// The operator remembers a refusal for half a minute, so nobody asks it too early.
	Eventually(ctx, func() (string, error) {
		return tryKubectl(ctx, "auth", "can-i", "get", "/metrics", "--as=system:serviceaccount:"+namespace+":"+account)
	}).Should(Equal("yes\n"))
}

// get asks the operator for something, as the bearer of a token unless that is empty.
func get(ctx context.Context, url, token string) (status int, body string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // the operator signs for itself
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(content)
}
