// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/docs"
	"github.com/example/memcached-operator/test/traffic"
)

// The user follows docs/operations/autoscaling.md.
var _ = Describe("A user who autoscales a cache", Label(onLocalCluster), func() {
	It("has more nodes under load and fewer afterwards, and the operator follows", SpecTimeout(6*time.Minute), func(ctx SpecContext) {
		a := newAutoscaled(ctx, k8s.NewNamespace(ctx))
		corrections, began := a.corrections(ctx), time.Now()

		By("using it until it grows")
		cache := client.ObjectKeyFromObject(a.mc) // the background task must not share a.mc with the test
		stop := clustertest.InBackground(ctx, func(ctx context.Context) { use(ctx, cache) })
		minimum := *a.hpa.Spec.MinReplicas
		Eventually(ctx, k8s.Object(a.mc)).Should(HaveField("Spec.Size", BeNumerically(">", minimum)))
		grown := time.Since(began)
		k8s.UntilReady(ctx, a.mc)
		a.mustSelectItsPods(ctx)
		a.mustRunCommands(ctx)

		By("leaving it alone until it shrinks")
		stop()
		left := time.Now()
		Eventually(ctx, k8s.Object(a.mc)).Should(HaveField("Spec.Size", Equal(minimum)))
		shrunk := time.Since(left)
		k8s.UntilReady(ctx, a.mc)
		Expect(a.corrections(ctx)).To(Equal(corrections), "the autoscaler and the operator do not fight")
		clustertest.AddTable("A cache that an HPA scales", [][]string{
			{"grew after", "shrank after"}, {grown.Round(time.Second).String(), shrunk.Round(time.Second).String()},
		})
	})

	It("can use KEDA: the API server accepts the ScaledObject", SpecTimeout(time.Minute), func(ctx SpecContext) {
		crd := strings.TrimSpace(k8s.Run(ctx, "hack/cluster/autoscaling.sh", "keda-crd"))
		k8s.Kubectl(ctx, "create", "--filename", crd)
		DeferCleanup(func(ctx SpecContext) { k8s.Kubectl(ctx, "delete", "--filename", crd) })
		k8s.Kubectl(ctx, "wait", "--for=condition=Established", "--filename", crd, "--timeout=30s")
		scaledObject := &unstructured.Unstructured{}
		Expect(yaml.UnmarshalStrict([]byte(documented("scaled object")), &scaledObject.Object)).To(Succeed())
		scaledObject.SetNamespace(k8s.NewNamespace(ctx))
		strict := client.WithFieldValidation(k8s, metav1.FieldValidationStrict)
		// The API server may take a moment to serve a new Kind.
		Eventually(ctx, func() error { return strict.Create(ctx, scaledObject.DeepCopy(), client.DryRunAll) }).Should(Succeed())
	})
})

func installMetricsServer(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) { k8s.Run(ctx, "hack/cluster/autoscaling.sh", "uninstall") })
	k8s.Run(ctx, "hack/cluster/autoscaling.sh", "install", filepath.Join(clusterDir, "ca.crt"))
}

func documented(name string) string {
	GinkgoHelper()
	return documentedIn("docs/operations/autoscaling.md", name)
}

// documentedIn returns the named block of a page. A comment before the block gives it the name.
func documentedIn(page, name string) string {
	GinkgoHelper()
	parsed := docs.Parse(page, []byte(clustertest.Read(page)))
	blocks := parsed.Named()
	Expect(blocks).To(HaveKey(name), page)
	return blocks[name]
}

// autoscaled is the documented Memcached with the documented HorizontalPodAutoscaler.
type autoscaled struct {
	mc  *cachev1alpha1.Memcached
	hpa *autoscalingv2.HorizontalPodAutoscaler
	// token is a bearer token with the permission to read the metrics of the operator.
	token string
}

// newAutoscaled creates the documented objects, with shorter times and with a CPU request that a small load exceeds. It also creates
// another Memcached, whose pods the autoscaler must not count. It returns when the autoscaler knows the CPU usage.
func newAutoscaled(ctx context.Context, namespace string) *autoscaled {
	GinkgoHelper()
	a := &autoscaled{mc: &cachev1alpha1.Memcached{}, hpa: &autoscalingv2.HorizontalPodAutoscaler{}}
	mc, hpa, _ := strings.Cut(documented("autoscaled cache"), "\n---\n")
	Expect(yaml.UnmarshalStrict([]byte(mc), a.mc)).To(Succeed())
	Expect(yaml.UnmarshalStrict([]byte(hpa), a.hpa)).To(Succeed())
	a.mc.Namespace, a.hpa.Namespace = namespace, namespace
	a.mc.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("50m")
	shorten(a.hpa.Spec.Behavior.ScaleUp, 0)
	shorten(a.hpa.Spec.Behavior.ScaleDown, 15)
	Expect(k8s.Create(ctx, a.mc)).To(Succeed())
	Expect(k8s.Create(ctx, a.hpa)).To(Succeed())
	k8s.CreateMemcached(ctx, namespace, 1, clustertest.Named("other"))
	installMetricsServer(ctx)
	a.token = tokenOf(ctx, namespace, "prometheus")
	letReadMetrics(ctx, namespace, "prometheus")
	k8s.UntilReady(ctx, a.mc)
	a.mustSelectItsPods(ctx)
	Eventually(ctx, k8s.Object(a.hpa)).Should(HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", autoscalingv2.ScalingActive), HaveField("Status", corev1.ConditionTrue)))))
	return a
}

func shorten(rules *autoscalingv2.HPAScalingRules, window int32) {
	rules.StabilizationWindowSeconds = &window
	for i := range rules.Policies {
		rules.Policies[i].PeriodSeconds = 15
	}
}

// mustSelectItsPods waits until the scale subresource counts and selects exactly the nodes. The
// HorizontalPodAutoscaler reads this subresource.
func (a *autoscaled) mustSelectItsPods(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		scale, selected := &autoscalingv1.Scale{}, &corev1.PodList{}
		g.Expect(k8s.SubResource("scale").Get(ctx, a.mc, scale)).To(Succeed())
		selector, err := labels.Parse(scale.Status.Selector)
		g.Expect(err).NotTo(HaveOccurred())
		matching := client.MatchingLabelsSelector{Selector: selector}
		g.Expect(k8s.List(ctx, selected, client.InNamespace(a.mc.Namespace), matching)).To(Succeed())
		g.Expect(clustertest.Incarnations(selected.Items)).To(Equal(k8s.Incarnations(ctx, a.mc)))
		g.Expect(selected.Items).To(HaveLen(int(scale.Status.Replicas)))
	}).Should(Succeed())
}

// mustRunCommands runs the documented commands. Their output must show the autoscaler's rescaling to 4 nodes, and then the Memcached.
func (a *autoscaled) mustRunCommands(ctx context.Context) {
	GinkgoHelper()
	var output strings.Builder
	for line := range strings.Lines(documented("autoscaler commands")) {
		command, _, _ := strings.Cut(line, "#")
		words := append(strings.Fields(command), "--namespace", a.mc.Namespace)
		output.WriteString(k8s.Run(ctx, words[0], words[1:]...))
	}
	Expect(output.String()).To(MatchRegexp(`(?s)SuccessfulRescale.*New size: 4.*sessions`))
}

// use reads keys from all nodes of a cache until the context ends. It looks for new nodes once a second.
func use(ctx context.Context, cache client.ObjectKey) {
	for ctx.Err() == nil {
		var mc cachev1alpha1.Memcached
		if err := k8s.Get(ctx, cache, &mc); err != nil {
			continue
		}
		servers, err := traffic.Servers(ctx, k8s, mc.Namespace, mc.Status.Nodes)
		if err != nil {
			continue // a node of status.nodes was just deleted
		}
		readFrom(ctx, servers)
	}
}

// readFrom writes keys, and reads them again and again, for a second in all.
func readFrom(ctx context.Context, servers []traffic.Server) {
	ring, err := traffic.NewRing(servers...)
	if err != nil {
		return // no node is known yet
	}
	cache := traffic.NewClient(ring, k8s.Dial)
	defer cache.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = cache.Write(ctx, keysPerRound, 100) // if writing fails, the reads miss, which is load as well
	for ctx.Err() == nil {
		_, _ = cache.Read(ctx, keysPerRound)
	}
}

func (a *autoscaled) corrections(ctx context.Context) []string {
	GinkgoHelper()
	status, body := get(ctx, "https://"+metricsAddress(ctx)+"/metrics", a.token)
	Expect(status).To(Equal(http.StatusOK))
	return regexp.MustCompile(`(?m)^memcached_operator_corrections_total.*$`).FindAllString(body, -1)
}
