// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/testenv"
)

// suspicious maps specs to the warnings about them.
var suspicious = map[string][]string{
	// Drains never end.
	"{size: 1, podDisruptionBudget: {minAvailable: 1}}":                   {blocked("1", "the only node")},
	"{size: 1, podDisruptionBudget: {minAvailable: 1%}}":                  {blocked("1%", "the only node")},
	"{size: 3, podDisruptionBudget: {minAvailable: 3}}":                   {blocked("3", "all 3 nodes")},
	"{size: 3, podDisruptionBudget: {minAvailable: 10}}":                  {blocked("10", "all 3 nodes")},
	"{size: 3, podDisruptionBudget: {minAvailable: 67%}}":                 {blocked("67%", "all 3 nodes")}, // rounded up
	"{size: 5, podDisruptionBudget: {minAvailable: 100%, enabled: true}}": {blocked("100%", "all 5 nodes")},
	"{size: 3, podDisruptionBudget: {maxUnavailable: 0}}": {
		"spec.podDisruptionBudget.maxUnavailable is 0: every drain of a cluster node that runs a memcached node is blocked; raise it to 1",
	},
	"{size: 1, podDisruptionBudget: {maxUnavailable: 0%}}": {
		"spec.podDisruptionBudget.maxUnavailable is 0%: every drain of a cluster node that runs a memcached node is blocked; raise it to 1",
	},
	// Drains may evict all nodes at the same time.
	"{size: 3, podDisruptionBudget: {maxUnavailable: 3}}":    {evicted("3", "all 3 nodes")},
	"{size: 3, podDisruptionBudget: {maxUnavailable: 67%}}":  {evicted("67%", "all 3 nodes")}, // rounded up
	"{size: 2, podDisruptionBudget: {maxUnavailable: 100%}}": {evicted("100%", "all 2 nodes")},
	"{size: 3, podDisruptionBudget: {minAvailable: 0}}": {
		"spec.podDisruptionBudget.minAvailable is 0: drains may evict all 3 nodes at the same time, and the whole cache is lost; " +
			"replace it with maxUnavailable: 1",
	},
	// A rollout stops all nodes at the same time.
	"{size: 3, updateStrategy: {maxUnavailable: 10}}":             {stopped("10", "3")},
	"{size: 3, updateStrategy: {maxUnavailable: 3, maxSurge: 1}}": {stopped("3", "3")},
	"{size: 2, updateStrategy: {maxUnavailable: 100%}}":           {stopped("100%", "2")},
	"{size: 1, updateStrategy: {maxUnavailable: 1}}":              {stoppedOnly("1")},
	"{size: 1, updateStrategy: {maxUnavailable: 25%}}":            {stoppedOnly("25%")}, // 0, which Kubernetes raises to 1
	"{size: 1, updateStrategy: {maxUnavailable: 1, maxSurge: 1}}": {stoppedOnly("1")},
	"{size: 3, updateStrategy: {maxSurge: 100%}}": {
		"spec.updateStrategy.maxSurge is 100%, which is all 3 nodes: a rollout starts an empty successor of each at the same time, " +
			"and the whole cache is lost at once; replace it with maxUnavailable: 1",
	},
	// Anyone who reads network traffic learns passwords.
	"{size: 1, auth: {secretName: users}}": {
		"spec.auth is set without spec.tls: users' names and passwords cross the network unencrypted with each connection; " +
			"set spec.tls.secretName",
	},
	"{size: 1, auth: {secretName: users}, tls: {secretName: certificate, plaintext: Enabled}, networkPolicy: {enabled: true}}": {
		"spec.auth is set while spec.tls.plaintext is Enabled: users' names and passwords cross the network unencrypted with each " +
			"connection to port 11211; once all clients use port 11212, set spec.tls.plaintext to Disabled",
	},
	// Anyone on the network can exhaust the memory of a node.
	"{size: 1, tls: {secretName: certificate}}":                                                             {exhausted},
	"{size: 1, tls: {secretName: certificate, clientAuth: Require}, auth: {secretName: users}}":             {exhausted},
	"{size: 1, tls: {secretName: certificate}, networkPolicy: {}}":                                          {exhausted},
	"{size: 1, tls: {secretName: certificate}, networkPolicy: {enabled: false, from: [{podSelector: {}}]}}": {unlisted, exhausted},
	// The lists of a NetworkPolicy have no effect, or exclude more clients than a user expects.
	"{size: 1, networkPolicy: {enabled: false, from: [{podSelector: {}}]}}":        {unlisted},
	"{size: 1, networkPolicy: {enabled: false, metricsFrom: [{podSelector: {}}]}}": {unlisted},
	"{size: 1, networkPolicy: {metricsFrom: [{podSelector: {}}]}}":                 {cutOff},
	// Several warnings appear together.
	"{size: 2, podDisruptionBudget: {minAvailable: 2}, updateStrategy: {maxUnavailable: 2}}": {
		blocked("2", "all 2 nodes"), stopped("2", "2"),
	},
}

// normal are specs without a warning.
var normal = []string{
	"{size: 0, podDisruptionBudget: {minAvailable: 0}, updateStrategy: {maxUnavailable: 1}}",
	"{size: 0, podDisruptionBudget: {maxUnavailable: 0}}",
	"{size: 1}",
	"{size: 1, podDisruptionBudget: {maxUnavailable: 1}}",
	"{size: 1, podDisruptionBudget: {maxUnavailable: 100%}}",
	"{size: 1, podDisruptionBudget: {minAvailable: 0}}",
	"{size: 1, updateStrategy: {maxSurge: 1}}",
	"{size: 1, workload: StatefulSet, updateStrategy: {maxUnavailable: 1}}",
	"{size: 1, updateStrategy: {maxSurge: 100%, maxUnavailable: 0}}",
	"{size: 1, updateStrategy: {maxUnavailable: 0%}}",
	"{size: 1, updateStrategy: {maxUnavailable: 25%, maxSurge: 25%}}",
	"{size: 3}",
	"{size: 3, podDisruptionBudget: {enabled: false}}",
	"{size: 3, podDisruptionBudget: {enabled: false, minAvailable: 3}}",
	"{size: 3, podDisruptionBudget: {minAvailable: 2}}",
	"{size: 3, podDisruptionBudget: {minAvailable: 66%}}",
	"{size: 3, podDisruptionBudget: {maxUnavailable: 2}}",
	"{size: 3, podDisruptionBudget: {maxUnavailable: 1%}}",
	"{size: 3, updateStrategy: {maxUnavailable: 2}}",
	"{size: 3, updateStrategy: {maxUnavailable: 99%}}",
	"{size: 3, updateStrategy: {maxSurge: 2, maxUnavailable: 0}}",
	"{size: 3, updateStrategy: {minReadySeconds: 60}}",
	"{size: 3, auth: {secretName: users}, tls: {secretName: certificate}, networkPolicy: {enabled: true}}",
	"{size: 3, auth: {secretName: users}, tls: {secretName: certificate, plaintext: Disabled}, networkPolicy: {from: [{podSelector: {}}]}}",
	"{size: 3, tls: {secretName: certificate, plaintext: Enabled}, networkPolicy: {enabled: true, metricsFrom: [{podSelector: {}}]}}",
	"{size: 3, networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{podSelector: {}}]}}",
	"{size: 3, networkPolicy: {enabled: false}}",
	"{size: 0, tls: {secretName: certificate}}",
	"{size: 1000, podDisruptionBudget: {minAvailable: 99%}, updateStrategy: {maxUnavailable: 999}}",
}

const unlisted = "spec.networkPolicy.enabled is false, so from and metricsFrom have no effect: everyone may connect; remove enabled, or the lists"

const cutOff = "spec.networkPolicy.metricsFrom is set without from: only pods of this namespace may connect to the cache then; list the clients " +
	"in spec.networkPolicy.from, or set enabled to true if that is meant"

const exhausted = "spec.tls is set without a NetworkPolicy: clients without a certificate or a password can take the memory of a node, " +
	"which is then killed, and all of its connections; set spec.networkPolicy.from, unless another NetworkPolicy limits who connects"

func blocked(value, nodes string) string {
	return "spec.podDisruptionBudget.minAvailable is " + value + ", which is " + nodes +
		": every drain of a cluster node that runs one is blocked; replace it with maxUnavailable: 1"
}

func evicted(value, nodes string) string {
	return "spec.podDisruptionBudget.maxUnavailable is " + value + ", which is " + nodes +
		": drains may evict them at the same time, and the whole cache is lost; lower it to 1"
}

func stopped(value, size string) string {
	return "spec.updateStrategy.maxUnavailable is " + value + ", which is all " + size +
		" nodes: a rollout stops them at the same time, and nothing serves until a new node is ready; lower it to 1"
}

func stoppedOnly(value string) string {
	return "spec.updateStrategy.maxUnavailable is " + value + ", which is the only node: a rollout stops it before a new node is ready; " +
		"without maxUnavailable and maxSurge, the new node starts first"
}

// warnings collects the warnings in the responses of the API server to a client. kubectl would print them.
type warnings []string

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	*w = append(*w, text)
}

func TestSuspiciousSpecsAreWarnedAbout(t *testing.T) {
	i := install(t)
	i.apply(t, kustomize.Render(t, repository.Path("config", "admission-warnings")))
	g := NewWithT(t)
	var received warnings
	config := rest.CopyConfig(i.config)
	config.WarningHandlerWithContext = &received
	user, err := client.New(config, client.Options{Scheme: testenv.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(user.Create(t.Context(), memcachedOf(t, existing, "{size: 3}"))).To(Succeed())
	create := func(t *testing.T, spec string) warnings {
		t.Helper()
		received = nil
		NewWithT(t).Expect(user.Create(t.Context(), memcachedOf(t, fresh, spec), client.DryRunAll)).To(Succeed())
		return received
	}
	change := func(t *testing.T, spec string) warnings {
		t.Helper()
		mc := memcachedOf(t, existing, spec)
		received = nil
		NewWithT(t).Expect(user.Patch(t.Context(), mc, client.Merge, client.DryRunAll)).To(Succeed())
		return received
	}
	const prefix = "Validation failed for ValidatingAdmissionPolicy 'memcached-operator-warnings' " +
		"with binding 'memcached-operator-warnings': "
	const probe = "{size: 3, podDisruptionBudget: {maxUnavailable: 0}}"
	g.Eventually(func() warnings { return create(t, probe) }, timeout).ShouldNot(BeEmpty())

	for spec, wanted := range suspicious {
		t.Run(spec, func(t *testing.T) {
			var want warnings
			for _, message := range wanted {
				want = append(want, prefix+message)
			}
			NewWithT(t).Expect(create(t, spec)).To(Equal(want), "when it is created")
			NewWithT(t).Expect(change(t, spec)).To(Equal(want), "when it is changed")
		})
	}
	for _, spec := range append(normal, samples(t)...) {
		t.Run(spec, func(t *testing.T) {
			NewWithT(t).Expect(create(t, spec)).To(BeEmpty(), "when it is created")
			NewWithT(t).Expect(change(t, spec)).To(BeEmpty(), "when it is changed")
		})
	}
}

// memcachedOf returns a Memcached with a spec in YAML. The spec may have unknown fields.
func memcachedOf(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &content); err != nil {
		t.Fatal(err)
	}
	mc := &unstructured.Unstructured{Object: content}
	mc.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	mc.SetNamespace(shop)
	mc.SetName(name)
	return mc
}

// samples returns the specs of the Memcacheds in config/samples and in its folders, as JSON.
func samples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(repository.Path("config", "samples", "cache_v1alpha1_memcached[._]*yaml"))
	nested, nestedErr := filepath.Glob(repository.Path("config", "samples", "*", "cache_v1alpha1_memcached[._]*yaml"))
	if err := errors.Join(err, nestedErr); err != nil || len(files) < 4 || len(nested) < 3 {
		t.Fatalf("%d and %d samples: %v", len(files), len(nested), err)
	}
	var specs []string
	for _, file := range slices.Concat(files, nested) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var sample struct{ Spec map[string]any }
		if err := yaml.Unmarshal(text, &sample); err != nil {
			t.Fatal(err)
		}
		spec, err := yaml.Marshal(sample.Spec)
		if err != nil {
			t.Fatal(err)
		}
		inline, err := yaml.YAMLToJSON(spec)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, string(inline))
	}
	return specs
}
