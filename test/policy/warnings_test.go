// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
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
	{"size: 1, workload: StatefulSet, auth: {secretName: a}", []string{"spec.auth is set without spec.tls"}},
	{
		"size: 1, workload: StatefulSet, auth: {secretName: a}, tls: {secretName: b, plaintext: Enabled}, networkPolicy: {}",
		[]string{"use port 11212"},
	},
	{
		"size: 1, workload: StatefulSet, proxy: {}, tls: {secretName: a}, networkPolicy: {}",
		[]string{"spec.tls ends at the proxies: what they send to the nodes crosses the network unencrypted"},
	},
	{"size: 1, workload: StatefulSet, tls: {secretName: a}", []string{"spec.tls is set without a NetworkPolicy"}},
	{
		"size: 1, workload: StatefulSet, networkPolicy: {metricsFrom: [{podSelector: {}}]}",
		[]string{"metricsFrom is set without from: only pods of this namespace"},
	},
	{"size: 2, podDisruptionBudget: {maxUnavailable: 0}, updateStrategy: {maxUnavailable: 100%}", []string{blocks, stopped}},
	{"size: 0, workload: StatefulSet, podDisruptionBudget: {maxUnavailable: 0}, tls: {secretName: a}", nil},
	{"size: 1, podDisruptionBudget: {maxUnavailable: 100%}", nil},
	{"size: 1, updateStrategy: {maxUnavailable: 0%}", nil},
	{"size: 1, workload: StatefulSet, updateStrategy: {maxUnavailable: 1}", nil},
	{"size: 3, podDisruptionBudget: {enabled: false, maxUnavailable: 0}", nil},
	{"size: 3, podDisruptionBudget: {maxUnavailable: 2}, updateStrategy: {maxUnavailable: 99%}", nil},
	{"size: 3, workload: StatefulSet, auth: {secretName: a}, tls: {secretName: b}, networkPolicy: {from: [{podSelector: {}}]}", nil},
}

// bases are the specs, by the name of a Memcached, that the changes below change.
var bases = map[string]string{
	"deployment": "size: 3",
	"paused":     "size: 3, paused: true",
	"empty":      "size: 0",
	"memory":     "size: 3, workload: StatefulSet",
	"limited":    "size: 3, workload: StatefulSet, resources: {limits: {memory: 1Gi}}",
	"in-place":   "size: 3, workload: StatefulSet, updateStrategy: {podUpdatePolicy: InPlaceOrRecreate}",
	"file":       "size: 3, workload: StatefulSet, storage: {type: MemoryFile}, config: {memory: 128Mi}",
	"requested":  "size: 3, workload: StatefulSet, resources: {limits: {cpu: 2}, requests: {cpu: 1, ephemeral-storage: 1Gi}}, updateStrategy: {podUpdatePolicy: InPlaceOrRecreate}",
	"bounded":    "size: 3, workload: StatefulSet, storage: {type: MemoryFile}, config: {memory: 128Mi}, resources: {requests: {memory: 1Gi}}",
	"both":       "size: 3, workload: StatefulSet, storage: {type: MemoryFile}, config: {memory: 128Mi}, updateStrategy: {podUpdatePolicy: InPlaceOrRecreate}",
	"copy":       "size: 3, workload: StatefulSet, copies: 2",
	"encrypted":  "size: 3, workload: StatefulSet, tls: {secretName: a}, networkPolicy: {}",
}

const (
	replaced  = ": now every node is replaced and starts empty; with workload StatefulSet and storage MemoryFile, most changes keep"
	restarted = ": now memcached restarts in every node, without its items; with storage MemoryFile, most changes keep the items: docs/concepts"
	outgrown  = ": every node is replaced and starts empty if the computed memory limit no longer holds it; a given spec.resources.limits.memory"
)

// changes have words of the warning about a change of a base, or none, as docs/concepts/changes.md says.
var changes = []struct{ base, change, words string }{
	{"deployment", "config: {idleTimeout: 10m, threads: 8}", "spec.config.threads, spec.config.idleTimeout" + replaced},
	{"deployment", "config: {memory: 128Mi}", "spec.config.memory" + replaced},
	{"deployment", "image: memcached:1.6.46, restartedAt: '2026-01-01T00:00:00Z'", "spec.image, spec.restartedAt" + replaced},
	{"deployment", "resources: {limits: {cpu: 1}}, gracefulShutdown: {preStopDelaySeconds: 9}", "spec.resources, spec.gracefulShutdown" + replaced},
	{"deployment", "scheduling: {nodeSelector: {a: b}}", "spec.scheduling" + replaced},
	{"deployment", "podMetadata: {labels: {a: b}}, imagePullPolicy: Always", "spec.imagePullPolicy, spec.podMetadata" + replaced},
	{"deployment", "config: {memory: 65536Ki}, updateStrategy: {minReadySeconds: 9}, podDisruptionBudget: {enabled: false}", ""},
	{"deployment", "size: 4", "spec.size: clients look for a part of the keys on other nodes"},
	{"deployment", "size: 0, podDisruptionBudget: {maxUnavailable: 0%}, updateStrategy: {maxUnavailable: 100%}, image: memcached:1.6.46", "spec.size is 0: no node is left"},
	{"paused", "image: memcached:1.6.46, size: 4", ""},
	{"paused", "size: 0", ""},
	{"empty", "image: memcached:1.6.46, size: 4", ""},
	{"memory", "config: {idleTimeout: 10m}", "spec.config.idleTimeout" + restarted},
	{"memory", "restartedAt: '2026-01-01T00:00:00Z'", "spec.restartedAt" + restarted},
	{"memory", "config: {memory: 128Mi, threads: 8}", "spec.config.memory" + replaced},
	{"memory", "resources: {limits: {cpu: 1}}", "spec.resources" + replaced},
	{"memory", "agent: {resources: {limits: {memory: 64Mi}}}", "spec.agent" + replaced},
	{"memory", "tls: {secretName: a}, networkPolicy: {}", "spec.tls" + replaced},
	{"memory", "config: {dump: true}", "spec.config.dump" + restarted},
	{"limited", "config: {memory: 128Mi}", ""},
	{"limited", "config: {memory: 128Mi, maxItemSize: 2Mi}", "spec.config.maxItemSize" + restarted},
	{"memory", "config: {threads: 8}", "spec.config.threads" + restarted},
	{"memory", "config: {threads: 4}", ""},
	{"in-place", "config: {memory: 128Mi}, resources: {requests: {cpu: 1}}", ""},
	{"in-place", "resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}", "spec.resources.limits.cpu" + restarted},
	{"in-place", "resources: {requests: {cpu: 1}, limits: {cpu: 3001m}}", ""},
	{"in-place", "config: {threads: 4}, resources: {limits: {cpu: 1}}", "spec.resources" + replaced},
	{"requested", "resources: {limits: {cpu: 1500m, memory: 1Gi}}", ""},
	{"requested", "resources: {limits: {cpu: 2500m}}", "spec.resources.limits.cpu" + restarted},
	{"requested", "resources: {requests: {cpu: 2}}", "spec.resources" + replaced},
	{"requested", "resources: {limits: {cpu: null}}", "spec.resources" + replaced},
	{"requested", "resources: {requests: {ephemeral-storage: 2Gi}}", "spec.resources" + replaced},
	{"in-place", "image: memcached:1.6.46", "spec.image" + restarted},
	{"in-place", "storage: {type: MemoryFile}, config: {memory: 128Mi}", "spec.storage.type" + replaced},
	{"file", "config: {idleTimeout: 10m, threads: 2, maxConnections: 900}, restartedAt: '2026-01-01T00:00:00Z'", ""},
	{"file", "replacedAt: '2026-01-01T00:00:00Z', restartedAt: '2026-01-01T00:00:00Z'", "spec.replacedAt" + replaced},
	{"copy", "replacedAt: '2026-01-01T00:00:00Z'", ""},
	{"file", "config: {maxConnections: 1025}", "spec.config.maxConnections" + outgrown},
	{"file", "config: {threads: 5}", "spec.config.threads" + outgrown},
	{"file", "config: {threads: 1}, resources: {requests: {cpu: 1}}", "spec.resources" + replaced},
	{"file", "config: {memory: 256Mi}", "spec.config.memory" + replaced},
	{"file", "config: {maxItemSize: 2Mi}", "spec.config.maxItemSize" + restarted},
	{"bounded", "config: {memory: 256Mi}", "spec.config.memory" + restarted},
	{"bounded", "config: {maxConnections: 3000, threads: 8}", ""},
	{"both", "config: {maxConnections: 3000}, resources: {requests: {cpu: 1}, limits: {cpu: 8}}", ""},
	{"both", "image: memcached:1.6.46", "spec.image, if its memcached has another version" + restarted},
	{"both", "config: {memory: 256Mi}", "spec.config.memory" + restarted},
	{"copy", "image: memcached:1.6.46, config: {threads: 8}", ""},
	{"copy", "updateStrategy: {maxUnavailable: 3}", ""},
	{"encrypted", "tls: {minVersion: '1.3'}", "spec.tls.minVersion" + restarted},
	{"encrypted", "tls: {secretName: b}", "spec.tls" + replaced},
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
	create := func(spec string) []string {
		received = nil
		g.Expect(user.Create(t.Context(), memcachedOf(t, "new", spec), client.DryRunAll)).To(Succeed(), spec)
		return received
	}
	g.Eventually(func() []string { return create(specs[0].spec) }, timeout).ShouldNot(BeEmpty())
	for _, c := range specs {
		create(c.spec)
		g.Expect(received).To(HaveLen(len(c.words)), c.spec)
		for n := range c.words {
			g.Expect(received[n]).To(ContainSubstring(c.words[n]), c.spec)
		}
	}
	for name, spec := range bases {
		g.Expect(user.Create(t.Context(), memcachedOf(t, name, spec))).To(Succeed(), spec)
	}
	for _, c := range changes {
		received = nil
		g.Expect(user.Patch(t.Context(), memcachedOf(t, c.base, c.change), client.Merge, client.DryRunAll)).To(Succeed(), c.change)
		if c.words == "" {
			g.Expect(received).To(BeEmpty(), "%s: %s", c.base, c.change)
		} else {
			g.Expect(received).To(ConsistOf(ContainSubstring(c.words)), "%s: %s", c.base, c.change)
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
