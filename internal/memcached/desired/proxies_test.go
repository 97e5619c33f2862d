// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// fronted returns a Memcached with proxies whose last status has so many servers.
func fronted(servers int, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	mc := memcachedtest.Cache(int32(servers), append([]func(*cachev1alpha1.Memcached){func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Workload, mc.Spec.Proxy = cachev1alpha1.WorkloadStatefulSet, &cachev1alpha1.MemcachedProxy{}
		mc.Status.ObservedGeneration, mc.Status.Servers = mc.Generation, make([]string, servers)
	}}, changes...)...)
	return mc
}

var frontTime = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// frontView returns the view of a Memcached whose objects are as desired, except that the ConfigMap has these routes, or does not exist.
func frontView(t testing.TB, mc *cachev1alpha1.Memcached, routes string, change func(client.Object)) memcached.View {
	t.Helper()
	v := memcached.NewView(mc, memcached.Observed{}, frontTime)
	for _, object := range For(v, memcachedtest.Options).Objects {
		live := memcachedtest.Live(t, mc, object)
		if config, ok := live.(*corev1.ConfigMap); ok && strings.HasSuffix(config.Name, "-routes") {
			if routes == "" {
				continue
			}
			config.Data[protocol.RoutesKey] = routes
		}
		if set, ok := live.(*appsv1.StatefulSet); ok {
			set.Status.Replicas = *set.Spec.Replicas
		}
		if change != nil {
			change(live)
		}
		v.Children = append(v.Children, live)
	}
	return v.With(v.Observed)
}

// A new number of nodes is announced once and takes effect two minutes later. It stays announced even if the number changes again, because
// proxies may have read it.
func TestRoutes(t *testing.T) {
	const pattern = "cache-%d.cache-nodes.shop.svc"
	resized := func(mc *cachev1alpha1.Memcached) { mc.Generation++ }
	for _, row := range []struct {
		name, live string
		mc         *cachev1alpha1.Memcached
		want       string
		announcing bool
		next       time.Duration
	}{
		{name: "the first ones hold at once", mc: fronted(3), want: pattern + " 3\n"},
		{name: "no nodes", mc: fronted(0), want: pattern + " 0\n"},
		{name: "a size of 0 that was not carried out", mc: fronted(0, resized)},
		{name: "nothing to do", live: pattern + " 3\n", mc: fronted(3), want: pattern + " 3\n"},
		{
			name: "a new size", live: pattern + " 3\n", mc: fronted(4), want: pattern + " 3 next 4 2026-11-24T10:02:00Z\n", announcing: true,
			next: 2 * time.Minute,
		},
		{
			name: "it is announced", live: pattern + " 3 next 4 2026-11-24T10:00:30Z\n", mc: fronted(4),
			want: pattern + " 3 next 4 2026-11-24T10:00:30Z\n", next: 30 * time.Second,
		},
		{
			name: "another size meanwhile waits", live: pattern + " 3 next 4 2026-11-24T10:00:01Z\n", mc: fronted(3),
			want: pattern + " 3 next 4 2026-11-24T10:00:01Z\n", next: time.Second,
		},
		{name: "it holds", live: pattern + " 3 next 4 2026-11-24T10:00:00Z\n", mc: fronted(4), want: pattern + " 3 next 4 2026-11-24T10:00:00Z\n"},
		{
			name: "another size later", live: pattern + " 3 next 4 2026-11-24T09:00:00Z\n", mc: fronted(5),
			want: pattern + " 4 next 5 2026-11-24T10:02:00Z\n", announcing: true, next: 2 * time.Minute,
		},
		{name: "no nodes any more", live: pattern + " 3\n", mc: fronted(0), want: pattern + " 3\n"},
		{name: "the first nodes", live: pattern + " 0\n", mc: fronted(3), want: pattern + " 3\n", announcing: true},
		{name: "other names", live: "other-%d.other.shop.svc 7\n", mc: fronted(3), want: pattern + " 3\n", announcing: true},
		{name: "somebody has edited them", live: "nonsense", mc: fronted(3), want: pattern + " 3\n"},
	} {
		plan, got := For(frontView(t, row.mc, row.live, nil), memcachedtest.Options), ""
		if plan.Routes != nil {
			got = plan.Routes.String()
		}
		if row.mc.Spec.Size > 0 { // then pods are missing, too
			row.next = memcached.Sooner(row.next, absentTooLong)
		}
		if got != row.want || plan.Announcing != row.announcing || plan.NextStep != row.next {
			t.Errorf("%s: %q, announcing %t, next %s", row.name, got, plan.Announcing, plan.NextStep)
		}
	}
}

// A node that has never been ready, and the nodes of a first start of which the cluster has not reported, are in no route. Nodes that start
// together are announced together, but none waits for a pod that could not be created.
func TestRoutesHaveKnownNodesOnly(t *testing.T) {
	first := memcached.NewView(fronted(3), memcached.Observed{}, frontTime)
	first.Last.Servers = 0
	if plan := For(first, memcachedtest.Options); plan.Routes != nil || slices.ContainsFunc(plan.Objects, isDeployment) {
		t.Errorf("the first routes are %v", plan.Routes)
	}
	for _, row := range []struct {
		known, pods int // of five
		announced   bool
	}{{3, 5, false}, {4, 5, false}, {4, 4, true}, {5, 5, true}} {
		grown := fronted(row.known)
		grown.Spec.Size = 5
		plan := For(frontView(t, grown, "cache-%d.cache-nodes.shop.svc 3\n", func(object client.Object) {
			if set, ok := object.(*appsv1.StatefulSet); ok {
				set.Status.Replicas = int32(row.pods)
			}
		}), memcachedtest.Options)
		if plan.Announcing != row.announced {
			t.Errorf("%d pods, %d of them have been ready: %s", row.pods, row.known, plan.Routes)
		}
	}
}

func isDeployment(object client.Object) bool {
	return object.GetObjectKind().GroupVersionKind().Kind == "Deployment"
}

// A ConfigMap with unreadable routes stays, because new proxies could not start without it.
func TestUnreadableRoutesStay(t *testing.T) {
	v := frontView(t, fronted(3), "by hand", nil)
	v.Last.Servers, v.Workload.Replicas = 0, 0
	if !slices.ContainsFunc(For(v, memcachedtest.Options).Objects, func(object client.Object) bool {
		config, ok := object.(*corev1.ConfigMap)
		return ok && config.Data[protocol.RoutesKey] == "by hand"
	}) {
		t.Error("the ConfigMap is gone")
	}
}

// All proxies must spread the keys over the same number of nodes at each moment. The test changes the size of the cache at random,
// and the operator notices each change late. The proxies read each ConfigMap within a minute and a half.
func TestProxiesSwitchTogether(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		servers, now, live := 3, frontTime, "cache-%d.cache-nodes.shop.svc 3\n"
		proxies := make([]reader, 3)
		for i := range proxies {
			proxies[i].read(t, live, now)
		}
		switches, before := 0, 3
		for range 1200 { // seconds
			now = now.Add(time.Second)
			if random.IntN(60) == 0 {
				servers = 1 + random.IntN(6)
			}
			if random.IntN(20) == 0 {
				v := memcached.NewView(fronted(servers), memcached.Observed{Children: []client.Object{&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: "cache-routes"}, Data: map[string]string{protocol.RoutesKey: live},
				}}}, now)
				if routes := routesOf(v).String(); routes != live {
					live = routes
					for i := range proxies {
						proxies[i].read(t, live, now.Add(time.Duration(random.IntN(90))*time.Second))
					}
				}
			}
			count := proxies[0].at(now)
			for i := range proxies {
				if other := proxies[i].at(now); other != count {
					t.Fatalf("seed %d, after %s: proxy 0 leads to %d nodes, proxy %d to %d", seed, now.Sub(frontTime), count, i, other)
				}
			}
			if count != before {
				switches, before = switches+1, count
			}
		}
		if switches == 0 {
			t.Errorf("seed %d: no switch", seed)
		}
	}
}

// reader is a proxy. The field routes has what the kubelet delivered last. The field coming has what the kubelet will deliver.
type reader struct {
	routes protocol.Routes
	coming []arrival
}

type arrival struct {
	routes protocol.Routes
	at     time.Time
}

func (r *reader) read(t *testing.T, text string, at time.Time) {
	t.Helper()
	routes, err := protocol.ParseRoutes(text)
	if err != nil {
		t.Fatal(err)
	}
	r.coming = append(r.coming, arrival{routes, at})
}

// at returns the number of nodes that the proxy uses. Once a ConfigMap has arrived, older ones are ignored.
func (r *reader) at(now time.Time) int {
	for i, next := range slices.Backward(r.coming) {
		if !next.at.After(now) {
			r.routes, r.coming = next.routes, r.coming[i+1:]
			break
		}
	}
	return r.routes.Pool.At(now)
}

func frontOf(t *testing.T, plan memcached.Plan) *appsv1.Deployment {
	t.Helper()
	i := slices.IndexFunc(plan.Objects, isDeployment)
	if i < 0 {
		t.Fatal("no Deployment")
	}
	return plan.Objects[i].(*appsv1.Deployment)
}

// An upgrade of the operator alone replaces no proxy. spec.replacedAt does.
func TestProxiesKeepTheirDefaults(t *testing.T) {
	v := frontView(t, fronted(3), "cache-%d.cache-nodes.shop.svc 3\n", nil)
	newer := memcached.Options{DefaultImage: "memcached:2", AgentImage: "operator:2"}
	if diff := cmp.Diff(v.ProxyWorkload().Template, &frontOf(t, For(v, newer)).Spec.Template); diff != "" {
		t.Errorf("the template changes:\n%s", diff)
	}
	for name, change := range map[string]func(*cachev1alpha1.Memcached){
		"threads":    func(mc *cachev1alpha1.Memcached) { mc.Spec.Proxy.Threads = 2 },
		"replacedAt": func(mc *cachev1alpha1.Memcached) { mc.Spec.ReplacedAt = ptr.To(metav1.NewTime(frontTime)) },
	} {
		v.Memcached = fronted(3, change)
		adopted := frontOf(t, For(v, newer)).Spec.Template.Spec
		if adopted.Containers[0].Image != "memcached:2" || adopted.InitContainers[0].Image != "operator:2" {
			t.Errorf("%s: the images are %s and %s", name, adopted.Containers[0].Image, adopted.InitContainers[0].Image)
		}
	}
}

// Without spec.proxy.size, the operator creates two proxies, and leaves their number to others.
func TestNumberOfProxies(t *testing.T) {
	scaled := func(object client.Object) {
		if deployment, ok := object.(*appsv1.Deployment); ok {
			deployment.Spec.Replicas = ptr.To(int32(7))
		}
	}
	sized := func(mc *cachev1alpha1.Memcached) { mc.Spec.Proxy.Size = ptr.To(int32(3)) }
	for _, row := range []struct {
		mc        *cachev1alpha1.Memcached
		new, then int32
	}{{fronted(3), 2, 7}, {fronted(3, sized), 3, 3}} {
		v := memcached.NewView(row.mc, memcached.Observed{}, frontTime)
		live := frontView(t, row.mc, "cache-%d.cache-nodes.shop.svc 3\n", scaled)
		got := [2]int32{*frontOf(t, For(v, memcachedtest.Options)).Spec.Replicas, *frontOf(t, For(live, memcachedtest.Options)).Spec.Replicas}
		if got != [2]int32{row.new, row.then} {
			t.Errorf("%v: %v", row.mc.Spec.Proxy, got)
		}
	}
}

// With TLS, a proxy needs more memory. A memory limit in the spec must allow for that, and no node changes while it does not.
func TestMemoryOfProxies(t *testing.T) {
	tls := func(mc *cachev1alpha1.Memcached) { mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "front-tls"} }
	if got := proxyNeed(fronted(3)).String() + " " + proxyNeed(fronted(3, tls)).String(); got != "72Mi 119Mi" {
		t.Errorf("without and with TLS: %s", got)
	}
	mc := fronted(3, tls, func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Proxy.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("72Mi")}
	})
	plan := For(memcached.NewView(mc, memcached.Observed{}, frontTime), memcachedtest.Options)
	if plan.Problem == nil || plan.Problem.Reason != cachev1alpha1.ReasonInvalidSpec || !strings.Contains(plan.Problem.Message,
		"spec.proxy.resources.limits.memory is 72Mi, but a proxy with 1024 TLS connections and threads: 1 needs at least 119Mi") {
		t.Errorf("%+v", plan.Problem)
	}
}

// Only proxies, scrapers and the operator reach the nodes. While a cache that clients use gets its first proxies, the clients do, too.
func TestNodesAdmitProxies(t *testing.T) {
	shop := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}}
	direct := func(mc *cachev1alpha1.Memcached) { mc.Spec.Proxy = nil }
	limited := func(mc *cachev1alpha1.Memcached) {
		mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{From: []networkingv1.NetworkPolicyPeer{shop}}
	}
	proxies := proxyPeers(fronted(3))[0]
	ready := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "cache-proxy-1-a", Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "cache-proxy-1", Controller: ptr.To(true)}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	before := frontView(t, fronted(3, direct, limited), "", nil)
	before.Memcached = fronted(3, limited)
	with := before
	with.Children = append(slices.Clone(before.Children), memcachedtest.Live(t, before.Memcached, frontOf(t, For(before, memcachedtest.Options))))
	with.Proxies = []corev1.Pod{ready}
	after := frontView(t, fronted(3, limited), "", nil)
	for name, row := range map[string]struct {
		v    memcached.View
		want []networkingv1.NetworkPolicyPeer
	}{
		"a new cache":             {memcached.NewView(fronted(3, limited), memcached.Observed{}, frontTime), []networkingv1.NetworkPolicyPeer{proxies}},
		"no proxy is ready":       {before, []networkingv1.NetworkPolicyPeer{shop, proxies}},
		"a proxy is ready":        {with, []networkingv1.NetworkPolicyPeer{proxies}},
		"all proxies have failed": {after, []networkingv1.NetworkPolicyPeer{proxies}},
	} {
		for _, object := range For(row.v, memcachedtest.Options).Objects {
			policy, ok := object.(*networkingv1.NetworkPolicy)
			want := row.want
			if !ok {
				continue
			}
			if policy.Name == "cache-proxy" {
				want = []networkingv1.NetworkPolicyPeer{shop}
			}
			if diff := cmp.Diff(want, policy.Spec.Ingress[0].From); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, policy.Name, diff)
			}
		}
	}
}
