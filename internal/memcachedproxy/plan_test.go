// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/golden"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden.yaml")

var (
	options = memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "operator:1"}
	now     = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
)

func sessions(count int, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "sessions", Namespace: "shop", Generation: 1}}
	mc.Spec = cachev1alpha1.MemcachedSpec{Size: int32(count), Workload: cachev1alpha1.WorkloadStatefulSet}
	mc.Status.ObservedGeneration = 1
	for i := range count {
		mc.Status.Servers = append(mc.Status.Servers, fmt.Sprintf("sessions-%d.sessions.shop.svc:11211", i))
	}
	for _, change := range changes {
		change(mc)
	}
	return mc
}

func front(changes ...func(*cachev1alpha1.MemcachedProxy)) *cachev1alpha1.MemcachedProxy {
	proxy := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Name: "front", Namespace: "shop", UID: "front-uid", Generation: 3}}
	proxy.Spec = cachev1alpha1.MemcachedProxySpec{Size: ptr.To(int32(2)), Pools: []cachev1alpha1.MemcachedProxyPool{{Name: "sessions"}}}
	for _, change := range changes {
		change(proxy)
	}
	return proxy
}

// live returns the view after the operator has written its plan and the cluster has carried it out.
func live(t *testing.T, v View, opts memcached.Options) View {
	t.Helper()
	v.Children, v.Pods = nil, nil
	for _, object := range For(v, opts).Objects {
		object.SetOwnerReferences([]metav1.OwnerReference{{UID: v.Proxy.UID, Controller: ptr.To(true)}})
		if d, ok := object.(*appsv1.Deployment); ok {
			size := *d.Spec.Replicas
			d.Generation, d.Status.ObservedGeneration = 1, 1
			d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = size, size, size, size
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: "NewReplicaSetAvailable"}}
			for i := range size {
				pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("front-1-%d", i), Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "1"},
					OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "front-1", Controller: ptr.To(true)}},
				}}
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				v.Pods = append(v.Pods, pod)
			}
		}
		v.Children = append(v.Children, object)
	}
	return v
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d input files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		proxy := &cachev1alpha1.MemcachedProxy{}
		if err = errors.Join(err, yaml.UnmarshalStrict(text, proxy)); err != nil {
			t.Fatal(err)
		}
		opts := options
		opts.OmitRunAsUser = strings.Contains(file, "openshift")
		view := View{Proxy: proxy, Pool: sessions(3), Now: now}
		for _, pool := range proxy.Spec.Pools[1:] {
			view.Copies = append(view.Copies, copyOf(pool.Name, 3))
		}
		plan := For(view, opts)
		if plan.Problem != nil {
			t.Fatalf("%s: %+v", file, plan.Problem)
		}
		golden.Compare(t, strings.Replace(file, ".input.", ".golden.", 1), plan.Objects, *update,
			"an upgrade of the operator that changes spec.template replaces every proxy")
	}
}

// A new size is announced once and takes effect two minutes later. It stays announced even if the size changes again, because
// proxies may have read it.
func TestRoutes(t *testing.T) {
	const pattern = "sessions-%d.sessions.shop.svc"
	for _, row := range []struct {
		name, live string
		pool       *cachev1alpha1.Memcached
		want       string
		announcing bool
		next       time.Duration
	}{
		{name: "the first ones hold at once", pool: sessions(3), want: pattern + " 3\n"},
		{name: "no nodes", pool: sessions(0), want: pattern + " 0\n"},
		{name: "no pool"},
		{name: "nothing to do", live: pattern + " 3\n", pool: sessions(3), want: pattern + " 3\n"},
		{
			name: "a new size", live: pattern + " 3\n", pool: sessions(4), want: pattern + " 3 next 4 2026-11-24T10:02:00Z\n", announcing: true,
			next: 2 * time.Minute,
		},
		{
			name: "it is announced", live: pattern + " 3 next 4 2026-11-24T10:01:30Z\n", pool: sessions(4),
			want: pattern + " 3 next 4 2026-11-24T10:01:30Z\n", next: 90 * time.Second,
		},
		{
			name: "another size meanwhile waits", live: pattern + " 3 next 4 2026-11-24T10:00:01Z\n", pool: sessions(3),
			want: pattern + " 3 next 4 2026-11-24T10:00:01Z\n", next: time.Second,
		},
		{name: "it holds", live: pattern + " 3 next 4 2026-11-24T10:00:00Z\n", pool: sessions(4), want: pattern + " 3 next 4 2026-11-24T10:00:00Z\n"},
		{
			name: "another size later", live: pattern + " 3 next 4 2026-11-24T09:00:00Z\n", pool: sessions(5),
			want: pattern + " 4 next 5 2026-11-24T10:02:00Z\n", announcing: true, next: 2 * time.Minute,
		},
		{name: "no nodes any more", live: pattern + " 3\n", pool: sessions(0), want: pattern + " 3\n"},
		{name: "the first nodes", live: pattern + " 0\n", pool: sessions(3), want: pattern + " 3\n", announcing: true},
		{name: "another pool", live: "other-%d.other.shop.svc 7\n", pool: sessions(3), want: pattern + " 3\n", announcing: true},
		{name: "somebody has edited them", live: "nonsense", pool: sessions(3), want: pattern + " 3\n"},
		{name: "the pool is gone", live: pattern + " 3\n", want: pattern + " 3\n"},
		{name: "the pool is created again as a Deployment", live: pattern + " 3\n", want: pattern + " 3\n", pool: sessions(0, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.Workload, mc.Spec.Size = cachev1alpha1.WorkloadDeployment, 3
		})},
	} {
		v := View{Proxy: front(), Pool: row.pool, Now: now}
		plan, got := routesFor(v, row.live)
		if got != row.want || plan.Announcing != row.announcing || plan.Next != row.next {
			t.Errorf("%s: %q, announcing %t, next %s", row.name, got, plan.Announcing, plan.Next)
		}
	}
}

// Running proxies stay as they are, whatever happens to their pool.
func TestPools(t *testing.T) {
	policy := func(peers ...networkingv1.NetworkPolicyPeer) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) {
			mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{From: peers}
		}
	}
	labels := func(labels map[string]string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: labels}}
	}
	running := live(t, View{Proxy: front(), Pool: sessions(3), Now: now}, options)
	for _, row := range []struct {
		name            string
		pool            *cachev1alpha1.Memcached
		reason, message string
	}{
		{name: "all is well", pool: sessions(3)},
		{name: "none", reason: "InvalidReference", message: "spec.pools names the Memcached sessions, which does not exist in the namespace: create it"},
		{
			name: "a new one", pool: sessions(3, func(mc *cachev1alpha1.Memcached) { mc.Status = cachev1alpha1.MemcachedStatus{ObservedGeneration: -1} }),
			reason: "InvalidReference", message: "The Memcached sessions has no servers in its status yet",
		},
		{
			name: "a Deployment", pool: sessions(3, func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadDeployment }),
			reason: "InvalidReference", message: "spec.workload of the Memcached sessions is Deployment",
		},
		{
			name: "users", pool: sessions(3, func(mc *cachev1alpha1.Memcached) { mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{} }),
			reason: "InvalidReference", message: "spec.auth of the Memcached sessions",
		},
		{
			name: "TLS alone", pool: sessions(3, func(mc *cachev1alpha1.Memcached) { mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{} }),
			reason: "InvalidReference", message: "spec.tls.plaintext of the Memcached sessions",
		},
		{name: "TLS and plaintext", pool: sessions(3, func(mc *cachev1alpha1.Memcached) {
			mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{Plaintext: cachev1alpha1.PlaintextEnabled}
		})},
		{
			name: "a list without proxies", pool: sessions(3, policy(labels(map[string]string{"app": "shop"}))),
			reason: "InvalidReference", message: "add {podSelector: {matchLabels: {app.kubernetes.io/name: memcached-proxy, " +
				"app.kubernetes.io/instance: front}}}",
		},
		{name: "that list", pool: sessions(3, policy(labels(map[string]string{
			"app.kubernetes.io/name": "memcached-proxy", "app.kubernetes.io/instance": "front",
		})))},
		{name: "a file in memory", pool: sessions(3, func(mc *cachev1alpha1.Memcached) { mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile })},
		{name: "a list of addresses", pool: sessions(3, policy(networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}))},
		{name: "no list", pool: sessions(3, policy())},
	} {
		for _, runs := range []bool{false, true} {
			v := View{Proxy: front(), Pool: row.pool, Now: now}
			if runs {
				v.Children, v.Pods = running.Children, running.Pods
			}
			plan := For(v, options)
			problem := memcached.Problem{}
			if plan.Problem != nil {
				problem = *plan.Problem
			}
			if problem.Reason != row.reason || !strings.Contains(problem.Message, row.message) || plan.HoldTemplate {
				t.Errorf("%s: %+v", row.name, problem)
			}
			if runs && !cmp.Equal(golden.Documents(t, plan.Objects), golden.Documents(t, For(running, options).Objects)) {
				t.Errorf("%s: what runs changes", row.name)
			}
			if !runs && (len(plan.Objects) == 4) != (plan.Routes != nil) {
				t.Errorf("%s: %d objects with routes %v", row.name, len(plan.Objects), plan.Routes)
			}
		}
	}
}

// A ConfigMap with unreadable routes stays, because new proxies could not start without it.
func TestUnreadableRoutesStay(t *testing.T) {
	v := live(t, View{Proxy: front(), Pool: sessions(3), Now: now}, options)
	v.ConfigMap().Data[protocol.RoutesKey] = "by hand"
	v.Pool = nil
	for _, object := range For(v, options).Objects {
		if found, ok := object.(*corev1.ConfigMap); ok && found.Data[protocol.RoutesKey] == "by hand" {
			return
		}
	}
	t.Error("the ConfigMap is gone")
}

func TestNamesakes(t *testing.T) {
	for _, row := range []struct {
		proxy, other time.Time
		conflict     bool
	}{{now, now.Add(-1), true}, {now, now, true}, {now, now.Add(time.Second), false}} {
		other := sessions(3)
		other.Name, other.CreationTimestamp = "front", metav1.NewTime(row.other)
		v := live(t, View{Proxy: front(func(p *cachev1alpha1.MemcachedProxy) { p.CreationTimestamp = metav1.NewTime(row.proxy) }), Pool: sessions(3), Now: now}, options)
		v.Namesake = other
		plan := For(v, options)
		if plan.HoldAll != row.conflict || row.conflict != (plan.Problem != nil && plan.Problem.Reason == cachev1alpha1.ReasonConflict) {
			t.Errorf("a Memcached made at %s: %+v", row.other, plan.Problem)
		}
	}
}

// An upgrade of the operator alone replaces no proxy.
func TestDefaultsAreKept(t *testing.T) {
	running := live(t, View{Proxy: front(), Pool: sessions(3), Now: now}, options)
	newer := memcached.Options{DefaultImage: "memcached:2", AgentImage: "operator:2"}
	kept := For(running, newer)
	if diff := cmp.Diff(running.Workload().Template, memcached.PodTemplate(kept.Objects[3])); diff != "" {
		t.Errorf("the template changes:\n%s", diff)
	}
	running.Proxy = front(func(p *cachev1alpha1.MemcachedProxy) { p.Spec.Config.Threads = 2 })
	adopted := memcached.PodTemplate(For(running, newer).Objects[3]).Spec
	if adopted.Containers[0].Image != "memcached:2" || adopted.InitContainers[0].Image != "operator:2" {
		t.Errorf("the images are %s and %s", adopted.Containers[0].Image, adopted.InitContainers[0].Image)
	}
}

// Copies have one order of writes within a thread.
func TestThreadsOfCopies(t *testing.T) {
	for pools, want := range map[int]int32{1: 4, 2: 1} {
		proxy := front(func(p *cachev1alpha1.MemcachedProxy) { p.Spec.Config.Threads = 4 })
		proxy.Spec.Pools = slices.Repeat(proxy.Spec.Pools, pools)
		if got := threads(proxy); got != want {
			t.Errorf("%d pools: %d threads, not %d", pools, got, want)
		}
	}
}

func TestHeldTemplates(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*cachev1alpha1.MemcachedProxy)
		opts   memcached.Options
		reason string
	}{
		"memory": {func(p *cachev1alpha1.MemcachedProxy) {
			p.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
		}, options, "InvalidSpec"},
		"priority": {func(p *cachev1alpha1.MemcachedProxy) { p.Spec.Scheduling.PriorityClassName = "system-node-critical" }, options, "InvalidSpec"},
		"agent":    {func(*cachev1alpha1.MemcachedProxy) {}, memcached.Options{DefaultImage: "memcached"}, "InvalidSpec"},
	} {
		plan := For(View{Proxy: front(row.change), Pool: sessions(3), Now: now}, row.opts)
		if !plan.HoldTemplate || plan.Problem == nil || plan.Problem.Reason != row.reason {
			t.Errorf("%s: %+v", name, plan.Problem)
		}
	}
}

// With TLS, a proxy needs more memory. A memory limit in the spec must allow for that.
func TestTLSNeedsMemory(t *testing.T) {
	tls := func(p *cachev1alpha1.MemcachedProxy) {
		p.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "front-tls"}
	}
	if got := model(front()).String() + " " + model(front(tls)).String(); got != "72Mi 119Mi" {
		t.Errorf("without and with TLS: %s", got)
	}
	plan := For(View{Proxy: front(tls, func(p *cachev1alpha1.MemcachedProxy) {
		p.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("72Mi")}
	}), Pool: sessions(3), Now: now}, options)
	if plan.Problem == nil || !strings.Contains(plan.Problem.Message, "1024 TLS connections and threads: 1 needs at least 119Mi") {
		t.Errorf("%+v", plan.Problem)
	}
}

// If the port without TLS is open, the address has that port, so that clients without TLS can still use the address.
func TestAddress(t *testing.T) {
	for plaintext, want := range map[cachev1alpha1.PlaintextMode]string{
		"": "front.shop.svc:11212", cachev1alpha1.PlaintextDisabled: "front.shop.svc:11212", cachev1alpha1.PlaintextEnabled: "front.shop.svc:11211",
	} {
		got := Address(front(func(p *cachev1alpha1.MemcachedProxy) { p.Spec.TLS = &cachev1alpha1.MemcachedTLS{Plaintext: plaintext} }))
		if got != want {
			t.Errorf("plaintext %s: %s", plaintext, got)
		}
	}
	if got := Address(front()); got != "front.shop.svc:11211" {
		t.Error(got)
	}
}
