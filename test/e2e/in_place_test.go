// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

const (
	// longestRestart is how long a node may be unreachable while memcached restarts in its pod.
	longestRestart = 2*time.Second + busyMachine/10
	// longestUpdate is how long a node may be unreachable while its cluster node pulls another image and restarts the container.
	longestUpdate = 3*time.Second + busyMachine/10
	// eachKeys is how many keys a cache of three nodes holds: filledKeys for each node, on average.
	eachKeys = 3 * filledKeys
)

// The caches are StatefulSets, and a client uses them during each change. allowInPlace permits the operator to change the pods.
var _ = Describe("A change in place", Label(onLocalCluster), func() {
	It("keeps pods, addresses and keys with storage.type MemoryFile", clustertest.Core, SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		c := newKeptCache(ctx, inFile)
		c.mustKeep(ctx, "threads, maxConnections, idleTimeout, flushAll and dump at once", longestRestart, 0, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Config.Threads, mc.Spec.Config.MaxConnections = 3, 1200
			mc.Spec.Config.IdleTimeout = &metav1.Duration{Duration: time.Hour}
			mc.Spec.Config.FlushAll, mc.Spec.Config.Dump = ptr.To(false), ptr.To(true)
		})
		c.mustKeep(ctx, "kubectl memcached restart, which sets restartedAt", longestRestart, 0, restartNow(ctx))
	})

	It("gives nodes more memory, with the limit that it needs, and they serve all the time", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		c := newKeptCacheOf(ctx, 3, eachKeys, 100, inPlace)
		allowInPlace(ctx, c.mc.Namespace)
		c.mustKeep(ctx, "memory 64Mi to 256Mi, the limit computed", 0, 0, memory("256Mi"))
		for _, pod := range k8s.Pods(ctx, c.mc) {
			stats := clustertest.Must(k8s.ConnectTo(ctx, traffic.Address(&pod)).Stats(ctx))
			Expect(stats["limit_maxbytes"]).To(Equal(fmt.Sprint(256 << 20)))
			Expect(pod.Status.ContainerStatuses[0].Resources.Limits.Memory().Value()).To(BeNumerically(">", 256<<20))
		}
		k8s.Change(ctx, c.mc, func() { memory("128Mi")(c.mc) })
		k8s.UntilReady(ctx, c.mc)
		for _, pod := range k8s.Pods(ctx, c.mc) {
			Expect(pod.Spec.Containers[0].Resources.Limits.Memory().Value()).To(BeNumerically("<", 300<<20))
		}
		Expect(k8s.Incarnations(ctx, c.mc)).To(Equal(clustertest.Incarnations(c.pods)))
	})

	It("keeps keys with a new image of memcached, and with one that does not exist, also after an upgrade of the operator", SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		c := newKeptCacheOf(ctx, 3, eachKeys, 100, inFile, inPlace)
		allowInPlace(ctx, c.mc.Namespace)

		former := c.pods[0].Spec.InitContainers[1].Image
		DeferCleanup(func(ctx SpecContext) { deploy(ctx, operatorImage) })
		deploy(ctx, upgradedImage)
		k8s.UntilCondition(ctx, c.mc, "Progressing", HaveField("Message", ContainSubstring("3 of 3 nodes have an older agent")))
		c.mustKeep(ctx, "image", longestUpdate, 1, c.image("-alpine"))
		for _, pod := range k8s.Pods(ctx, c.mc) {
			Expect(pod.Spec.Containers[0].Image).To(HaveSuffix("-alpine"))
			Expect(pod.Spec.InitContainers[1].Image).To(Equal(former), "a new agent comes with the next pod")
			Expect(pod.Status.InitContainerStatuses[1].RestartCount).To(BeZero())
		}

		By("a tag that does not exist")
		before := k8s.Incarnations(ctx, c.mc)
		k8s.Change(ctx, c.mc, func() { c.image("-none")(c.mc) })
		k8s.UntilReason(ctx, c.mc, "Degraded", "ImagePullFailed")
		k8s.UntilCondition(ctx, c.mc, "Degraded", HaveField("Message", ContainSubstring("Pod cache-2 was not changed in place")))
		Eventually(ctx, func() []corev1.Pod { return k8s.Pods(ctx, c.mc) }).WithTimeout(time.Minute).Should(HaveEach(
			Satisfy(func(pod corev1.Pod) bool { return clustertest.Ready(&pod) })))
		after := k8s.Incarnations(ctx, c.mc)
		Expect(after).To(HaveKeyWithValue("cache-0", before["cache-0"]))
		Expect(after).To(HaveKeyWithValue("cache-1", before["cache-1"]))
		Expect(after["cache-2"].Pod).To(Equal(before["cache-2"].Pod))
		clustertest.MustFind(ctx, k8s.NewClient(ctx, c.mc), eachKeys)

		By("a change of mind")
		c.mustKeep(ctx, "the image before", longestUpdate, 0, c.image("-alpine"))
		c.mustKeep(ctx, "the first image", longestUpdate, 1, c.image(""))
	})
})

func inFile(mc *cachev1alpha1.Memcached) {
	mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile
	memory("128Mi")(mc)
}

func restartNow(ctx context.Context) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		GinkgoHelper()
		k8s.Kubectl(ctx, "memcached", "restart", mc.Name, "--namespace", mc.Namespace, "--yes")
	}
}

// keptCache is a cache whose nodes must keep their pods and items during changes.
type keptCache struct {
	mc    *cachev1alpha1.Memcached
	cache *traffic.Client
	keys  int
	pods  []corev1.Pod
	rows  [][]string
}

func newKeptCache(ctx context.Context, edits ...clustertest.Edit) *keptCache {
	GinkgoHelper()
	return newKeptCacheOf(ctx, 3, filledKeys, 100, edits...)
}

func newKeptCacheOf(ctx context.Context, size int32, keys, valueSize int, edits ...clustertest.Edit) *keptCache {
	GinkgoHelper()
	c := &keptCache{keys: keys, rows: [][]string{{"change", "keys", "longest time without service, of each node", "Ready after"}}}
	DeferCleanup(func() {
		if len(c.rows) > 1 {
			clustertest.AddTable("Changes that keep the nodes", c.rows)
		}
	})
	edits = slices.Concat([]clustertest.Edit{clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet)}, edits)
	c.mc = k8s.NewMemcached(ctx, k8s.NewNamespace(ctx), size, edits...)
	c.pods = k8s.Pods(ctx, c.mc)
	c.connect(ctx)
	Expect(c.cache.Write(ctx, keys, valueSize)).To(Succeed())
	clustertest.MustFind(ctx, c.cache, keys)
	return c
}

// connect replaces the client of the cache by a new client of the current nodes. Its timeout is long enough for a busy machine.
func (c *keptCache) connect(ctx context.Context) {
	GinkgoHelper()
	c.cache = k8s.NewClient(ctx, c.mc)
	c.cache.SetTimeout(patience)
}

// mustKeep makes a change, waits until the cache is Ready, and checks that no pod was replaced and no key lost. longest is how long
// each node may be unreachable. restarts is how often the change must restart each memcached container.
func (c *keptCache) mustKeep(ctx context.Context, change string, longest time.Duration, restarts int32, edit func(*cachev1alpha1.Memcached)) {
	GinkgoHelper()
	By(change)
	before := k8s.Incarnations(ctx, c.mc)
	watches := make([]*serviceWatch, len(c.pods))
	for i := range c.pods {
		watches[i] = watchService(ctx, traffic.Address(&c.pods[i]))
	}
	endLoad := clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, time.Second, func() { _, _ = c.cache.Read(ctx, filledKeys) })
	})
	began := time.Now()
	k8s.Change(ctx, c.mc, func() { edit(c.mc) })
	c.untilReady(ctx)
	endLoad()
	took := time.Since(began)
	row := []string{change, "", "", took.Round(time.Second).String()}
	for _, watch := range watches {
		away := watch.end()
		row[2] += fmt.Sprintf("%.1f s ", away.Seconds())
		Expect(away).To(BeNumerically("<=", max(longest, shortestGap)), "time without service")
	}
	for i, pod := range k8s.Pods(ctx, c.mc) {
		was := before[pod.Name]
		Expect(pod.UID).To(Equal(was.Pod), pod.Name)
		Expect(pod.Status.PodIP).To(Equal(c.pods[i].Status.PodIP), pod.Name)
		Expect(clustertest.Restarts(&pod)).To(Equal(was.Restarts+restarts), "restarts of "+pod.Name)
	}
	c.connect(ctx)
	hits, err := c.cache.Read(ctx, c.keys)
	Expect(err).NotTo(HaveOccurred())
	row[1] = fmt.Sprintf("%d of %d", hits.Hits, hits.Keys)
	c.rows = append(c.rows, row)
	Expect(hits.Hits).To(Equal(hits.Keys), "keys")
}

// untilReady waits until the cache is Ready, for up to 20 minutes. The timeout of most specs ends the wait earlier.
func (c *keptCache) untilReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Condition(ctx, g, c.mc, cachev1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
	}).WithTimeout(20 * time.Minute).Should(Succeed())
}

// shortestGap is the time without an answer that mustKeep tolerates in every change: on a busy machine, even a node that always serves
// is slow.
const shortestGap = 700 * time.Millisecond

// serviceWatch sends commands to a node again and again, each on a new connection. gap is the longest time between two answers.
type serviceWatch struct {
	stop  func()
	mutex sync.Mutex
	last  time.Time
	gap   time.Duration
}

func watchService(ctx context.Context, address string) *serviceWatch {
	w := &serviceWatch{last: time.Now()}
	w.stop = clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, 50*time.Millisecond, func() { w.ask(ctx, address) })
	})
	return w
}

func (w *serviceWatch) ask(ctx context.Context, address string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := traffic.Connect(ctx, nil, address)
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := conn.Command(ctx, "mn"); err == nil {
		w.answered()
	}
}

func (w *serviceWatch) answered() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.gap = max(w.gap, time.Since(w.last))
	w.last = time.Now()
}

// end ends the watch, and returns the longest time without an answer. The time since the last answer counts, too.
func (w *serviceWatch) end() time.Duration {
	w.stop()
	w.answered()
	return w.gap
}

func inPlace(mc *cachev1alpha1.Memcached) {
	mc.Spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
}

func memory(quantity string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Memory = ptr.To(resource.MustParse(quantity)) }
}

// memoryLimit sets a memory limit, so that the operator does not compute it.
func memoryLimit(quantity string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
	}
}

// image returns a change that sets spec.image to the image that the cache had at first, with this suffix after its tag.
func (c *keptCache) image(suffix string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = c.pods[0].Spec.Containers[0].Image + suffix }
}

// allowInPlace permits the operator to change the pods of a namespace in place. It runs the commands that the status of a Memcached names
// when this permission is missing.
func allowInPlace(ctx context.Context, namespace string) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "create", "role", "memcached-operator-in-place", "-n", namespace, "--verb=patch", "--resource=pods,pods/resize")
	k8s.Kubectl(ctx, "create", "rolebinding", "memcached-operator-in-place", "-n", namespace, "--role=memcached-operator-in-place",
		"--serviceaccount="+operatorNamespace+":"+operatorDeployment)
}
