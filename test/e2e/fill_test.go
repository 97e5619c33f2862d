// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/traffic"
)

// Two caches name each other in spec.fillFrom: a new node copies the items of the node with the same ordinal in the
// other cache. The clients store each key in both caches, as a proxy does.
var _ = Describe("Two Memcacheds that fill each other", func() {
	It("lose no key with a node", SpecTimeout(8*time.Minute), func(ctx SpecContext) {
		t := newTwins(ctx)
		for _, mc := range t.caches {
			By("deleting a node of " + mc.Name)
			victim := k8s.Pods(ctx, mc)[1]
			Expect(k8s.Delete(ctx, &victim)).To(Succeed())
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: victim.Name}}
			Eventually(ctx, func(g Gomega) {
				g.Expect(k8s.Reread(ctx, pod)).To(Succeed())
				g.Expect(pod.UID).NotTo(Equal(victim.UID))
				g.Expect(clustertest.Ready(pod)).To(BeTrue())
			}).WithTimeout(3 * time.Minute).WithPolling(100 * time.Millisecond).Should(Succeed())
			mustHaveAllKeys(ctx, mc)
		}
	})

	It("are never without the same node when both roll out", SpecTimeout(9*time.Minute), func(ctx SpecContext) {
		t := newTwins(ctx)
		watch := t.watch(ctx)
		before := map[string]clustertest.Incarnation{}
		for _, mc := range t.caches {
			maps.Copy(before, k8s.Incarnations(ctx, mc))
			k8s.Change(ctx, mc, func() {
				mc.Spec.Image, mc.Spec.Config.Threads = strings.TrimPrefix(mc.Status.Image, "docker.io/library/"), 2
			})
		}
		for _, mc := range t.caches {
			untilTwinReady(ctx, mc)
		}
		watch.mustHaveSeenOne(t.caches[0].Name, t.caches[1].Name)
		for _, mc := range t.caches {
			mustHaveAllKeys(ctx, mc)
			for name, incarnation := range k8s.Incarnations(ctx, mc) {
				Expect(incarnation.Pod).NotTo(Equal(before[name].Pod), name)
			}
		}
	})
})

// twins are two caches of three nodes each, which fill each other and hold the same keys.
type twins struct{ caches []*cachev1alpha1.Memcached }

func newTwins(ctx context.Context) *twins {
	GinkgoHelper()
	t, namespace := &twins{}, k8s.NewNamespace(ctx)
	for name, twin := range map[string]string{"copy-a": "copy-b", "copy-b": "copy-a"} {
		t.caches = append(t.caches, k8s.CreateMemcached(ctx, namespace, 3, clustertest.Named(name),
			clustertest.RunBy(cachev1alpha1.WorkloadStatefulSet), leavesQuickly, func(mc *cachev1alpha1.Memcached) {
				mc.Spec.FillFrom = &cachev1alpha1.MemcachedFillFrom{Name: twin}
				mc.Spec.Config.Dump = ptr.To(true)
			}))
	}
	for _, mc := range t.caches {
		untilTwinReady(ctx, mc)
	}
	for _, mc := range t.caches {
		clustertest.MustStore(ctx, twinClient(ctx, mc), filledKeys)
	}
	return t
}

// untilTwinReady waits until a Memcached is Ready. Its timeout is long enough to replace the six nodes of twins, one after another.
func untilTwinReady(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		ready := k8s.Condition(ctx, g, mc, cachev1alpha1.ConditionReady)
		g.Expect(ready.ObservedGeneration).To(Equal(mc.Generation))
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
	}).WithTimeout(8 * time.Minute).Should(Succeed())
}

// twinClient returns a client of one cache. It distributes keys over the nodes in the same way for both caches.
func twinClient(ctx context.Context, mc *cachev1alpha1.Memcached) *traffic.Client {
	GinkgoHelper()
	var servers []traffic.Server
	for i, pod := range k8s.Pods(ctx, mc) {
		servers = append(servers, traffic.Server{Name: fmt.Sprintf("node-%d:11211", i), Address: traffic.Address(&pod)})
	}
	return k8s.NewClientOf(servers...)
}

func mustHaveAllKeys(ctx context.Context, mc *cachev1alpha1.Memcached) {
	GinkgoHelper()
	hits, err := twinClient(ctx, mc).Read(ctx, filledKeys)
	Expect(err).NotTo(HaveOccurred())
	Expect(hits).To(Equal(traffic.Hits{Keys: filledKeys, Hits: filledKeys}), mc.Name)
}

// twinWatch records, ten times a second, which nodes are not ready.
type twinWatch struct {
	stop  func()
	mutex sync.Mutex
	// both describes each time at which neither of the two nodes with the same ordinal was ready.
	both []string
	// away counts, for each cache, how often fewer than three nodes were ready.
	away map[string]int
}

func (t *twins) watch(ctx context.Context) *twinWatch {
	w := &twinWatch{away: map[string]int{}}
	var caches []types.NamespacedName // the watch must not share the Memcacheds with the test
	for _, mc := range t.caches {
		caches = append(caches, client.ObjectKeyFromObject(mc))
	}
	w.stop = clustertest.InBackground(ctx, func(ctx context.Context) {
		clustertest.Every(ctx, 100*time.Millisecond, func() { w.look(ctx, caches) })
	})
	return w
}

func (w *twinWatch) look(ctx context.Context, caches []types.NamespacedName) {
	ready := map[string]int{}
	var pods corev1.PodList
	if err := k8s.List(ctx, &pods, client.InNamespace(caches[0].Namespace)); err != nil {
		return // usually because the spec has ended
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp == nil && clustertest.Ready(pod) {
			ready[pod.Name[len(caches[0].Name):]]++ // the names of both caches are equally long
			ready[pod.Labels["app.kubernetes.io/instance"]]++
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for i := range 3 {
		if number := fmt.Sprintf("-%d", i); ready[number] == 0 {
			w.both = append(w.both, fmt.Sprintf("%s at %s, of %d pods", number, time.Now().Format(time.TimeOnly), len(pods.Items)))
		}
	}
	for _, cache := range caches {
		if ready[cache.Name] < 3 {
			w.away[cache.Name]++
		}
	}
}

// mustHaveSeenOne ends the watch. Each cache must have lacked a node at some time. The two nodes with the same ordinal
// must never have been away at the same time.
func (w *twinWatch) mustHaveSeenOne(caches ...string) {
	GinkgoHelper()
	w.stop()
	Expect(w.both).To(BeEmpty(), "nodes that were away in both")
	for _, name := range caches {
		Expect(w.away[name]).NotTo(BeZero(), name)
	}
}
