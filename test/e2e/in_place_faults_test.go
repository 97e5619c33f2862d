// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// disturbances happen in the middle of a change of config.threads. lost is how many nodes lose their items, because they have another
// container.
var disturbances = []struct {
	name string
	do   func(context.Context, *keptCache)
	lost int
}{
	{"memcached of a node crashes", func(_ context.Context, c *keptCache) { memcachedOf(&c.pods[0]).signal(syscall.SIGSEGV) }, 1},
	{"the parent of memcached is killed", func(_ context.Context, c *keptCache) {
		theOne(processesOf("parent", "pod"+string(c.pods[1].UID)), "parents of the pod").signal(syscall.SIGKILL)
	}, 1},
	{"the kubelet is killed, and started again", func(ctx context.Context, _ *keptCache) { restartKubelet(ctx) }, 0},
	{"the cluster node of a pod is drained", func(ctx context.Context, c *keptCache) {
		pod := &c.pods[1]
		drain := []string{
			"drain", pod.Spec.NodeName, "--ignore-daemonsets", "--timeout=1m", "--pod-selector=statefulset.kubernetes.io/pod-name=" + pod.Name,
		}
		DeferCleanup(func(ctx SpecContext) { k8s.Kubectl(ctx, "uncordon", pod.Spec.NodeName) })
		_, err := k8s.TryKubectl(ctx, drain...)
		Expect(err).To(MatchError(ContainSubstring("--delete-emptydir-data")), "said beforehand")
		k8s.Kubectl(ctx, append(drain, "--delete-emptydir-data")...)
		k8s.Kubectl(ctx, "uncordon", pod.Spec.NodeName)
	}, 1},
	{"the ConfigMap with the arguments is deleted, and then edited", func(ctx context.Context, c *keptCache) {
		Expect(k8s.Delete(ctx, c.arguments(ctx))).To(Succeed())
		c.untilUpdated(ctx, 2)
		config := c.arguments(ctx)
		k8s.Change(ctx, config, func() {
			for key := range config.Data {
				config.Data[key] = "0 of somebody"
			}
		})
	}, 0},
	{"a pause, and another mind", func(ctx context.Context, c *keptCache) {
		k8s.Change(ctx, c.mc, func() { c.mc.Spec.Paused, c.mc.Spec.Config.Threads = true, otherThreads(c.mc) })
		k8s.UntilCondition(ctx, c.mc, cachev1alpha1.ConditionProgressing, HaveField("Message",
			ContainSubstring("; the nodes will restart in place and keep their items. To resume: ")))
		k8s.Change(ctx, c.mc, func() { c.mc.Spec.Paused = false })
	}, 0},
}

var _ = Describe("A disturbed change of the configuration", Label(onLocalCluster), func() {
	It("takes only what a crash or a new pod takes", SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		c := newKeptCache(ctx, inFile, leavesQuickly)
		c.rows = [][]string{{"in the middle", "keys", "Ready after"}}
		for _, d := range disturbances {
			By(d.name)
			Expect(c.cache.Write(ctx, c.keys, 100)).To(Succeed())
			c.pods = k8s.Pods(ctx, c.mc)
			before, began := c.snapshot(ctx), time.Now()
			k8s.Change(ctx, c.mc, func() { c.mc.Spec.Config.Threads = otherThreads(c.mc) })
			c.untilUpdated(ctx, 1)
			d.do(ctx, c)
			k8s.UntilReady(ctx, c.mc)
			took := time.Since(began)
			c.mustRunTheSame(ctx)
			c.connect(ctx)
			after := c.snapshot(ctx)
			hits := clustertest.Must(c.cache.Read(ctx, c.keys))
			c.rows = append(c.rows, []string{d.name, fmt.Sprintf("%d of %d", hits.Hits, hits.Keys), took.Round(time.Second).String()})
			Expect(hits).To(Equal(traffic.Hits{Keys: filledKeys, Hits: keptBy(before, after)}), "the keys of nodes with the same container")
			Expect(before.lost(after)).To(Equal(d.lost), "nodes with another container")
		}
	})
})

// snapshot is a cache at one time: the ring of its servers, and the UID and the restarts of each pod, by the pod's name.
type snapshot struct {
	ring         *traffic.Ring
	incarnations map[string]clustertest.Incarnation
}

func (c *keptCache) snapshot(ctx context.Context) snapshot {
	GinkgoHelper()
	ring := clustertest.Must(traffic.NewRing(k8s.Servers(ctx, c.mc)...))
	return snapshot{ring, clustertest.Incarnations(k8s.Pods(ctx, c.mc))}
}

// lost counts the pods that are missing in a later snapshot, or have restarted.
func (s snapshot) lost(later snapshot) (lost int) {
	for name, was := range s.incarnations {
		if later.incarnations[name] != was {
			lost++
		}
	}
	return lost
}

// keptBy returns how many keys have the same owner in both snapshots, in the same pod without a restart of its container.
func keptBy(before, after snapshot) (kept int) {
	for number := range filledKeys {
		key := traffic.Key(number + 1)
		owner := before.ring.Owner(key).Name
		pod := clustertest.PodOf(owner)
		if after.ring.Owner(key).Name == owner && after.incarnations[pod] == before.incarnations[pod] {
			kept++
		}
	}
	return kept
}

func otherThreads(mc *cachev1alpha1.Memcached) int32 {
	if mc.Spec.Config.Threads == 3 {
		return 4
	}
	return 3
}

// untilUpdated waits until a rollout is in progress, and at least this number of nodes run the new configuration.
func (c *keptCache) untilUpdated(ctx context.Context, nodes int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		progressing := k8s.Condition(ctx, g, c.mc, cachev1alpha1.ConditionProgressing)
		g.Expect(progressing.Reason).To(Equal(cachev1alpha1.ReasonRollingOut))
		g.Expect(c.mc.Status.UpdatedReplicas).To(BeNumerically(">=", nodes))
	}).WithPolling(100 * time.Millisecond).Should(Succeed())
}

func (c *keptCache) arguments(ctx context.Context) *corev1.ConfigMap {
	GinkgoHelper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.mc.Namespace, Name: c.mc.Name + "-arguments"}}
	Eventually(ctx, k8s.Reread).WithArguments(config).Should(Succeed())
	return config
}

// mustRunTheSame fails unless every node runs with the arguments that the StatefulSet's template has for new pods. Each node's entry in the
// ConfigMap, if there is one, must name the same.
func (c *keptCache) mustRunTheSame(ctx context.Context) {
	GinkgoHelper()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.mc.Namespace, Name: c.mc.Name}}
	Expect(k8s.Reread(ctx, set)).To(Succeed())
	asked, found := memcached.AskedOf(set.Spec.Template.Annotations)
	Expect(found).To(BeTrue())
	for _, pod := range k8s.Pods(ctx, c.mc) {
		Eventually(ctx, parentStatus).WithArguments(&pod).Should(And( // a new pod reports its arguments after two seconds
			HaveField("List.Target", asked.Arguments), HaveField("Refused", BeNil()),
		), pod.Name)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.mc.Namespace, Name: c.mc.Name + "-arguments"}}
	Expect(client.IgnoreNotFound(k8s.Reread(ctx, config))).To(Succeed())
	for key, text := range config.Data {
		Expect(clustertest.Must(protocol.ParseEntry(text)).Target).To(Equal(asked.Arguments), key)
	}
}

func parentStatus(ctx context.Context, pod *corev1.Pod) (status protocol.Status, err error) {
	GinkgoHelper()
	_, body := get(ctx, "http://"+net.JoinHostPort(pod.Status.PodIP, "9151")+"/status", "")
	err = json.Unmarshal([]byte(body), &status)
	return status, err
}
