// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// The suite has run make deploy. These specs are the next steps of the README, in order.
var _ = Describe("A user who has installed the operator", clustertest.Core, Ordered, func() {
	var (
		namespace string
		mc        *cachev1alpha1.Memcached
	)

	BeforeAll(func(ctx SpecContext) {
		namespace = k8s.NewNamespace(ctx)
		k8s.Kubectl(ctx, "apply", "--namespace", namespace, "--filename", "config/samples/cache_v1alpha1_memcached.yaml")
		k8s.Kubectl(ctx, "wait", "--namespace", namespace, "--for=condition=Ready", "memcached/memcached-sample", "--timeout=2m")
		mc = &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-sample"}}
		Expect(k8s.Reread(ctx, mc)).To(Succeed())
	}, NodeTimeout(3*time.Minute))

	It("can use every node as soon as the Memcached is Ready", SpecTimeout(time.Minute), func(ctx SpecContext) {
		Expect(mc.Status.Nodes).To(HaveLen(3))
		for _, server := range k8s.Servers(ctx, mc) {
			clustertest.MustStore(ctx, k8s.NewClientOf(server), 10)
		}
		k8s.MustServe(ctx, mc, 1000)
	})

	DescribeTable("scales it with kubectl scale", func(ctx SpecContext, nodes int) {
		k8s.Kubectl(ctx, "scale", "--namespace", namespace, "memc/memcached-sample", fmt.Sprintf("--replicas=%d", nodes))
		Expect(k8s.Reread(ctx, mc)).To(Succeed())
		Expect(mc.Spec.Size).To(BeEquivalentTo(nodes))
		k8s.UntilReady(ctx, mc)
		var names []string
		for _, pod := range k8s.Pods(ctx, mc) {
			names = append(names, pod.Name)
		}
		Expect(names).To(HaveLen(nodes))
		Expect(mc.Status.Nodes).To(Equal(names))
	},
		Entry("up", SpecTimeout(3*time.Minute), 4),
		Entry("down", SpecTimeout(3*time.Minute), 2),
	)

	It("removes all of it with kubectl delete memc, and clients notice in time", SpecTimeout(3*time.Minute), func(ctx SpecContext) {
		pod := k8s.Pods(ctx, mc)[0]
		node := k8s.ConnectTo(ctx, traffic.Address(&pod))
		Expect(node.Command(ctx, "mn")).To(Equal("MN"))
		Expect(remains(ctx, namespace)).To(ContainElements("service/memcached-sample-nodes", "deployment.apps/memcached-sample",
			"poddisruptionbudget.policy/memcached-sample", "pod/"+pod.Name))

		k8s.Kubectl(ctx, "delete", "memc", "memcached-sample", "--namespace", namespace)
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
		namespace := k8s.NewNamespace(ctx)
		k8s.Kubectl(ctx, "apply", "--namespace", namespace, "--kustomize", "config/samples")
		k8s.Kubectl(ctx, "patch", "--namespace", namespace, "memcached", "memcached-sample-copies", "--type=merge",
			`--patch={"spec": {"scheduling": {"affinity": {}}}}`) // there may be only one cluster node
		k8s.Kubectl(ctx, "wait", "--namespace", namespace, "--for=condition=Ready", "memcached", "--all", "--timeout=3m")
		var samples cachev1alpha1.MemcachedList
		Expect(k8s.List(ctx, &samples, client.InNamespace(namespace))).To(Succeed())
		Expect(samples.Items).To(HaveLen(4))
		for _, mc := range samples.Items {
			k8s.MustServe(ctx, &mc, 100)
		}
	})
})

// remains lists the Memcacheds in a namespace, and the objects that exist because of Memcacheds.
func remains(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	get := []string{"get", "--namespace", namespace, "-o", "name"}
	// The selector leaves out the ConfigMap that Kubernetes adds to each namespace.
	return strings.Fields(k8s.Kubectl(ctx, append(get,
		"memcached,service,deployment,replicaset,statefulset,controllerrevision,pod,poddisruptionbudget,networkpolicy,endpointslice")...) +
		k8s.Kubectl(ctx, append(get, "configmap", "--selector", "app.kubernetes.io/managed-by=memcached-operator")...))
}

func operatorPod(ctx context.Context) corev1.Pod {
	GinkgoHelper()
	pods := operatorPods(ctx, Default)
	Expect(pods).To(HaveLen(1))
	return pods[0]
}

// tokenOf creates a service account, and returns a token of it. It does not use kubectl, because the report shows the output of
// kubectl.
func tokenOf(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(k8s.Create(ctx, account)).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	Expect(k8s.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// letReadMetrics grants a service account the role that the installation provides for reading metrics.
func letReadMetrics(ctx context.Context, namespace, account string) {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "memcached-operator-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
	Expect(k8s.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, binding)).To(Succeed()) })
	// The operator caches a refusal for half a minute, so the account must not ask the operator before the role has effect.
	Eventually(ctx, func() (string, error) {
		return k8s.TryKubectl(ctx, "auth", "can-i", "get", "/metrics", "--as=system:serviceaccount:"+namespace+":"+account)
	}).Should(Equal("yes\n"))
}

// get sends a GET request, with a bearer token unless the token is empty.
func get(ctx context.Context, url, token string) (status int, body string) {
	GinkgoHelper()
	request := clustertest.Must(http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody))
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The operator's certificate is self-signed.
	transport := &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	return response.StatusCode, string(clustertest.Must(io.ReadAll(response.Body)))
}
