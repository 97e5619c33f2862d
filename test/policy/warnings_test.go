// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	blocks  = ": every drain of a cluster node that runs a memcached node is blocked; raise it to 1"
	stopped = ": a rollout stops them at the same time, and nothing serves until a new node is ready; lower it to 1"
)

// specs have words of the warnings about them, in their order.
var specs = []struct {
	spec  string
	words []string
}{
	{"size: 3, podDisruptionBudget: {maxUnavailable: 0}", []string{"spec.podDisruptionBudget.maxUnavailable is 0" + blocks}},
	{"size: 1, podDisruptionBudget: {maxUnavailable: 0%}", []string{"maxUnavailable is 0%" + blocks}},
	{"size: 3, podDisruptionBudget: {maxUnavailable: 67%}", []string{"maxUnavailable is 67%, which is all 3 nodes: drains may evict them"}},
	{"size: 3, updateStrategy: {maxUnavailable: 3}", []string{"maxUnavailable is 3, which is all 3 nodes" + stopped}},
	{"size: 1, updateStrategy: {maxUnavailable: 25%}", []string{"25%, which is the only node: a rollout stops it before a new node"}},
	{"size: 1, auth: {secretName: a}", []string{"spec.auth is set without spec.tls"}},
	{"size: 1, auth: {secretName: a}, tls: {secretName: b, plaintext: Enabled}, networkPolicy: {}", []string{"use port 11212"}},
	{"size: 1, tls: {secretName: a}", []string{"spec.tls is set without a NetworkPolicy"}},
	{"size: 1, networkPolicy: {metricsFrom: [{podSelector: {}}]}", []string{"metricsFrom is set without from: only pods of this namespace"}},
	{"size: 2, podDisruptionBudget: {maxUnavailable: 0}, updateStrategy: {maxUnavailable: 100%}", []string{blocks, stopped}},
	{"size: 0, podDisruptionBudget: {maxUnavailable: 0}, tls: {secretName: a}", nil},
	{"size: 1, podDisruptionBudget: {maxUnavailable: 100%}", nil},
	{"size: 1, updateStrategy: {maxUnavailable: 0%}", nil},
	{"size: 1, workload: StatefulSet, updateStrategy: {maxUnavailable: 1}", nil},
	{"size: 3, podDisruptionBudget: {enabled: false, maxUnavailable: 0}", nil},
	{"size: 3, podDisruptionBudget: {maxUnavailable: 2}, updateStrategy: {maxUnavailable: 99%}", nil},
	{"size: 3, auth: {secretName: a}, tls: {secretName: b}, networkPolicy: {from: [{podSelector: {}}]}", nil},
}

// warnings collects the warnings of the API server, which kubectl prints.
type warnings []string

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	*w = append(*w, text)
}

func TestSuspiciousSpecsAreWarnedAbout(t *testing.T) {
	i := install(t)
	g := NewWithT(t)
	var received warnings
	config := rest.CopyConfig(i.Config)
	config.WarningHandlerWithContext = &received
	user, err := client.New(config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	for name, spec := range map[string]string{"false": "size: 3", "true": "size: 3, workload: StatefulSet"} {
		g.Expect(user.Create(t.Context(), memcachedOf(t, name, spec))).To(Succeed())
	}
	create := func() []string {
		g.Expect(user.Create(t.Context(), memcachedOf(t, "new", specs[0].spec), client.DryRunAll)).To(Succeed())
		return received
	}
	g.Eventually(create, timeout).ShouldNot(BeEmpty())
	for _, c := range specs {
		received = nil
		name := strconv.FormatBool(strings.Contains(c.spec, "StatefulSet"))
		g.Expect(user.Patch(t.Context(), memcachedOf(t, name, c.spec), client.Merge, client.DryRunAll)).To(Succeed(), c.spec)
		g.Expect(received).To(HaveLen(len(c.words)), c.spec)
		for n := range c.words {
			g.Expect(received[n]).To(ContainSubstring(c.words[n]), c.spec)
		}
	}
}

// memcachedOf returns a Memcached with a spec in YAML.
func memcachedOf(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte("spec: {"+spec+"}"), &content)).To(Succeed())
	content["apiVersion"], content["kind"] = cachev1alpha1.GroupVersion.String(), "Memcached"
	content["metadata"] = map[string]any{"namespace": shop, "name": name}
	return &unstructured.Unstructured{Object: content}
}
