// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
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
	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/traffic"
)

// disturbances happen in the middle of a change of config.threads. lost is how many nodes lose their items.
var disturbances = []struct {
	name string
	do   func(context.Context, *keptCache)
	lost int
}{
	{"memcached of a node is killed", func(ctx context.Context, c *keptCache) {
		c.untilUpdated(ctx, 1)
		memcachedOf(&c.pods[0]).signal(syscall.SIGKILL)
	}, 1},
	{"the launcher of a node is killed", func(ctx context.Context, c *keptCache) {
		c.untilUpdated(ctx, 1)
		theOne(processesOf("parent", "pod"+string(c.pods[1].UID)), "launchers of the pod").signal(syscall.SIGKILL)
	}, 1},
	{"the agent of a node is killed", func(ctx context.Context, c *keptCache) {
		c.untilUpdated(ctx, 1)
		theOne(processesOf("agent", "pod"+string(c.pods[1].UID)), "agents of the pod").signal(syscall.SIGKILL)
	}, 0},
	{"the kubelet is killed, and started again", func(ctx context.Context, c *keptCache) {
		c.untilUpdated(ctx, 1)
		restartKubelet(ctx)
	}, 0},
	{"a pod is deleted", func(ctx context.Context, c *keptCache) {
		c.untilUpdated(ctx, 1)
		Expect(k8s.Delete(ctx, &c.pods[1])).To(Succeed())
	}, 1},
	{"the ConfigMap with the arguments is deleted, and then edited", func(ctx context.Context, c *keptCache) {
		c.untilUpdated(ctx, 1)
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
		c.untilUpdated(ctx, 1)
		k8s.Change(ctx, c.mc, func() { c.mc.Spec.Paused, c.mc.Spec.Config.Threads = true, otherThreads(c.mc) })
		k8s.UntilCondition(ctx, c.mc, cachev1alpha1.ConditionProgressing, HaveField("Message",
			ContainSubstring("; the nodes will restart in place and keep their items. To resume: ")))
		k8s.Change(ctx, c.mc, func() { c.mc.Spec.Paused = false })
	}, 0},
}

var _ = Describe("A disturbed change of the configuration", Label(onLocalCluster), func() {
	It("takes only what a crash or a new pod takes", SpecTimeout(12*time.Minute), func(ctx SpecContext) {
		c := newKeptCache(ctx, inFile)
		c.rows = [][]string{{"in the middle", "keys", "other containers", "Ready after"}}
		for _, d := range disturbances {
			By(d.name)
			Expect(c.cache.Write(ctx, c.keys, 100)).To(Succeed())
			c.pods = k8s.Pods(ctx, c.mc)
			before, began := c.snapshot(ctx), time.Now()
			k8s.Change(ctx, c.mc, func() { c.mc.Spec.Config.Threads = otherThreads(c.mc) })
			d.do(ctx, c)
			k8s.UntilReady(ctx, c.mc)
			took := time.Since(began)
			c.mustRunTheSame(ctx)
			replaced, restarted := before.lost(c.snapshot(ctx))
			c.rows = append(c.rows, []string{
				d.name, c.mustKeepOthers(ctx, before), fmt.Sprint(replaced + restarted), took.Round(time.Second).String(),
			})
			Expect(replaced+restarted).To(Equal(d.lost), "nodes with another container")
		}
	})

	It("is refused by a node that cannot run with it, and takes no key", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		c := newKeptCache(ctx, inFile)
		k8s.Change(ctx, c.mc, func() { c.mc.Spec.Config.Threads = 3 })
		k8s.UntilReady(ctx, c.mc)
		before := k8s.Incarnations(ctx, c.mc)
		By("writing arguments of no threads for a node, while no operator would write others")
		scaleOperator(ctx, 0)
		bad := c.assign(ctx, 2, func(list string) string { return strings.Replace(list, " -t 3 ", " -t 0 ", 1) })
		Eventually(ctx, func(g Gomega) {
			status, err := launcherOf(ctx, &c.pods[2])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status.Refused).To(And(HaveField("Number", bad), HaveField("Reason", ContainSubstring("threads"))))
			g.Expect(status.Restarting).To(BeFalse())
		}).Should(Succeed())
		By("letting the operator go on")
		scaleOperator(ctx, 1)
		Eventually(ctx, func() string { return c.arguments(ctx).Data["2"] }).ShouldNot(ContainSubstring(" -t 0 "))
		k8s.UntilReady(ctx, c.mc)
		Expect(k8s.Incarnations(ctx, c.mc)).To(Equal(before), "pods and restarts")
		c.mustRunTheSame(ctx)
		clustertest.MustFind(ctx, k8s.NewClient(ctx, c.mc), c.keys)
	})

	It("can come with a change that replaces pods", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		c := newKeptCache(ctx, inFile)
		s := &secured{mc: c.mc, authority: clustertest.Must(credentials.NewAuthority("shop"))}
		before := k8s.Incarnations(ctx, c.mc)
		s.addPair(ctx)
		k8s.Change(ctx, c.mc, func() {
			c.mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: c.mc.Name + "-tls"}
			c.mc.Spec.Config.Threads = 3
		})
		k8s.UntilReady(ctx, c.mc)
		for name, now := range k8s.Incarnations(ctx, c.mc) {
			Expect(now.Pod).NotTo(Equal(before[name].Pod), "the pod %s", name)
			Expect(now.Restarts).To(BeZero(), "restarts of %s", name)
		}
		c.mustRunTheSame(ctx)
		status := clustertest.Must(launcherOf(ctx, &k8s.Pods(ctx, c.mc)[0]))
		Expect(status.List.Arguments).To(And(ContainSubstring(" -t 3 "), ContainSubstring(" -Z ")))
	})
})

// mustKeepOthers reads all keys. The number of hits must be exactly the number of keys on nodes whose pod was not replaced and whose
// container did not restart. mustKeepOthers returns the number of hits, as text for the table.
func (c *keptCache) mustKeepOthers(ctx context.Context, before snapshot) string {
	GinkgoHelper()
	c.connect(ctx)
	hits := clustertest.Must(c.cache.Read(ctx, c.keys))
	Expect(hits).To(Equal(traffic.Hits{Keys: filledKeys, Hits: keptBy(before, c.snapshot(ctx))}))
	return fmt.Sprintf("%d of %d", hits.Hits, hits.Keys)
}

func (c *keptCache) snapshot(ctx context.Context) snapshot {
	GinkgoHelper()
	return (&filledCache{mc: c.mc}).snapshot(ctx)
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

// assign edits the ConfigMap so that a node gets other arguments of memcached. It returns the number of the new entry.
func (c *keptCache) assign(ctx context.Context, ordinal int, change func(string) string) int64 {
	GinkgoHelper()
	config, key := c.arguments(ctx), strconv.Itoa(ordinal)
	entry := clustertest.Must(protocol.ParseEntry(config.Data[key]))
	entry.Number++
	entry.Target, entry.Arguments = "another", change(entry.Arguments)
	k8s.Change(ctx, config, func() { config.Data[key] = entry.String() })
	return entry.Number
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
		Eventually(ctx, launcherOf).WithArguments(&pod).Should(And( // a new pod reports its arguments after two seconds
			HaveField("List.Target", asked.Arguments), HaveField("Refused", BeNil()),
		), pod.Name)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.mc.Namespace, Name: c.mc.Name + "-arguments"}}
	Expect(client.IgnoreNotFound(k8s.Reread(ctx, config))).To(Succeed())
	for key, text := range config.Data {
		Expect(clustertest.Must(protocol.ParseEntry(text)).Target).To(Equal(asked.Arguments), key)
	}
}

func launcherOf(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pod.Status.PodIP+":9151/status", http.NoBody)
	if err != nil {
		return protocol.Status{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return protocol.Status{}, err
	}
	defer response.Body.Close()
	var status protocol.Status
	err = json.NewDecoder(response.Body).Decode(&status)
	return status, err
}
