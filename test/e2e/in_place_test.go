// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
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

// longestRestart is how long a node may be unreachable while memcached restarts in its pod.
const longestRestart = 2*time.Second + busyMachine/10

// The caches are StatefulSets, and a client uses them during each change.
var _ = Describe("A change of the configuration", Label(onLocalCluster), func() {
	var c *keptCache
	It("keeps pods, addresses and keys with storage.type MemoryFile", clustertest.Core, SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		c = newKeptCache(ctx, inFile)
		keeps := func(change string, edit func(*cachev1alpha1.Memcached)) {
			c.mustKeep(ctx, change, longestRestart, 0, edit)
		}
		keeps("threads", func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Threads = 3 })
		keeps("maxConnections", func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.MaxConnections = 1200 })
		keeps("idleTimeout, flushAll and dump at once", func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Config.IdleTimeout = &metav1.Duration{Duration: time.Hour}
			mc.Spec.Config.FlushAll, mc.Spec.Config.Dump = ptr.To(false), ptr.To(true)
		})
		keeps("kubectl memcached restart, which sets restartedAt", restartNow(ctx))
	})

	It("takes at most 4 s of service with 1 GiB of items, whose CAS and expiry stay", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		c = newKeptCacheOf(ctx, 1, 860_000, 1000, inFile, memory("1Gi"))
		item := storeItem(ctx, &c.pods[0])
		c.mustKeep(ctx, "restart, 1 GiB", 4*time.Second+busyMachine/10, 0, restartNow(ctx))
		item.mustExpire(ctx, &c.pods[0])
	})

	It("gives nodes more memory while they serve", SpecTimeout(10*time.Minute), func(ctx SpecContext) {
		c = newKeptCache(ctx, memoryLimit("512Mi"))
		for _, quantity := range []string{"128Mi", "256Mi"} {
			c.mustKeep(ctx, "memory "+quantity, 0, 0, memory(quantity))
			for _, pod := range c.pods {
				conn := k8s.ConnectTo(ctx, traffic.Address(&pod))
				stats := clustertest.Must(conn.Stats(ctx))
				limit := resource.MustParse(quantity)
				Expect(stats["limit_maxbytes"]).To(Equal(fmt.Sprint(limit.Value())))
			}
		}
		By("using the new room: no item makes way for others")
		const keys, valueSize = 1400, 100_000 // more than 128 MiB
		node := k8s.NewClientOf(k8s.Servers(ctx, c.mc)[0])
		node.SetTimeout(patience)
		Expect(node.Write(ctx, keys, valueSize)).To(Succeed())
		clustertest.MustFind(ctx, node, keys)
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
	c := &keptCache{keys: keys, rows: [][]string{{"change", "keys", "longest time without service, of each node", "Ready after", "writes", "launcher"}}}
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

// writes counts the operator's write requests in the namespace of the cache since a time, except requests for events. It returns two
// counts as text: the requests for objects, and the requests for their status.
func (c *keptCache) writes(since time.Time) string {
	GinkgoHelper()
	if clusterDir == "" {
		return "" // only the local cluster has an audit log
	}
	var children, status int
	for event := range requestsOf(operatorUser(operatorNamespace), since) {
		switch resource := resourceOf(event); {
		case !isWrite(event) || resource == "" || event.ObjectRef.Namespace != c.mc.Namespace || event.ObjectRef.Resource == "events":
		case event.ObjectRef.Subresource == "status":
			status++
		default:
			children++
		}
	}
	return fmt.Sprintf("%d, %d of status", children, status)
}

// launcherMemory returns, as text, the largest peak resident memory and the largest current anonymous memory of any launcher.
func (c *keptCache) launcherMemory() string {
	GinkgoHelper()
	if clusterDir == "" {
		return "" // the suite sees only the processes of the local cluster
	}
	var peak, own float64
	for i := range c.pods {
		p := theOne(processesOf("parent", "pod"+string(c.pods[i].UID)), "launchers of "+c.pods[i].Name)
		fields := fieldsOf(string(clustertest.Must(os.ReadFile(p.file("status")))))
		peak = max(peak, number(strings.TrimSuffix(fields["VmHWM"], " kB"))/1024)
		own = max(own, number(strings.TrimSuffix(fields["RssAnon"], " kB"))/1024)
	}
	return fmt.Sprintf("%.1f MiB, own %.1f", peak, own)
}

// storedItem is an item that expires after a minute.
type storedItem struct {
	cas     string
	expires time.Time
}

func storeItem(ctx context.Context, pod *corev1.Pod) storedItem {
	GinkgoHelper()
	conn := k8s.ConnectTo(ctx, traffic.Address(pod))
	expires := time.Now().Add(time.Minute)
	Expect(conn.Command(ctx, "ms expiring 1 T60\r\nv")).To(HavePrefix("HD"))
	return storedItem{clustertest.Must(conn.Command(ctx, "mg expiring c")), expires}
}

// mustExpire fails unless the item still has the same CAS, and expires in time.
func (i storedItem) mustExpire(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	conn := k8s.ConnectTo(ctx, traffic.Address(pod))
	get := func() string { return clustertest.Must(conn.Command(ctx, "mg expiring c")) }
	Expect(time.Until(i.expires)).To(BeNumerically(">", 2*time.Second), "the restart took too long for this test")
	Expect(get()).To(Equal(i.cas), "CAS")
	Eventually(ctx, get).WithTimeout(time.Minute).WithPolling(100 * time.Millisecond).Should(HavePrefix("EN"))
	Expect(time.Now()).To(BeTemporally("~", i.expires, 3*time.Second), "the end of its time to live")
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
	row := []string{change, "", "", took.Round(time.Second).String(), c.writes(began), c.launcherMemory()}
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
