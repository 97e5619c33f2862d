// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

func copyOf(name string, count int, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	mc := sessions(count, changes...)
	mc.Name = name
	return mc
}

func copied(proxy *cachev1alpha1.MemcachedProxy) {
	proxy.Spec.Pools = append(proxy.Spec.Pools, cachev1alpha1.MemcachedProxyPool{Name: "twins"})
}

// routesFor returns the plan and the text of its routes. live is the text of the routes in the ConfigMap. If live is empty, there
// is no ConfigMap.
func routesFor(v View, live string) (plan Plan, text string) {
	if live != "" {
		v.Children = []client.Object{&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "front-routes"}, Data: map[string]string{protocol.RoutesKey: live},
		}}
	}
	if plan = For(v, options); plan.Routes != nil {
		text = plan.Routes.String()
	}
	return plan, text
}

// The routes use the same number of nodes of every pool: the size of the smallest pool that has nodes.
func TestRoutesOfCopies(t *testing.T) {
	const pattern, twins = "sessions-%d.sessions.shop.svc", "twins-%d.twins.shop.svc\n"
	unknown := func(mc *cachev1alpha1.Memcached) { mc.Status = cachev1alpha1.MemcachedStatus{ObservedGeneration: -1} }
	for _, row := range []struct {
		name, live string
		pool, twin *cachev1alpha1.Memcached
		want       string
		announcing bool
	}{
		{name: "the first ones", pool: sessions(3), twin: copyOf("twins", 3), want: pattern + " 3\n" + twins},
		{name: "one is not known", pool: sessions(3), twin: copyOf("twins", 3, unknown)},
		{name: "one does not exist", pool: sessions(3)},
		{name: "the first is smaller", pool: sessions(2), twin: copyOf("twins", 3), want: pattern + " 2\n" + twins},
		{name: "the second is smaller", pool: sessions(3), twin: copyOf("twins", 2), want: pattern + " 2\n" + twins},
		{name: "the first has no nodes", pool: sessions(0), twin: copyOf("twins", 2), want: pattern + " 2\n" + twins},
		{name: "the second has none", pool: sessions(3), twin: copyOf("twins", 0), want: pattern + " 3\n" + twins},
		{name: "neither has any", pool: sessions(0), twin: copyOf("twins", 0), want: pattern + " 0\n" + twins},
		{name: "one is larger", live: pattern + " 3\n" + twins, pool: sessions(3), twin: copyOf("twins", 4), want: pattern + " 3\n" + twins},
		{
			name: "both are", live: pattern + " 3\n" + twins, pool: sessions(4), twin: copyOf("twins", 4),
			want: pattern + " 3 next 4 2026-11-24T10:02:00Z\n" + twins, announcing: true,
		},
		{
			name: "one is smaller", live: pattern + " 3\n" + twins, pool: sessions(3), twin: copyOf("twins", 2),
			want: pattern + " 3 next 2 2026-11-24T10:02:00Z\n" + twins, announcing: true,
		},
		{name: "one is gone", live: pattern + " 3\n" + twins, pool: sessions(4), want: pattern + " 3\n" + twins},
		{
			name: "another copy", live: pattern + " 3\nothers-%d.others.shop.svc\n", pool: sessions(3), twin: copyOf("twins", 3),
			want: pattern + " 3\n" + twins, announcing: true,
		},
		{
			name: "another order while a size is announced", live: twins[:len(twins)-1] + " 3 next 5 2026-11-24T10:01:00Z\n" + pattern + "\n",
			pool: sessions(5), twin: copyOf("twins", 5), want: pattern + " 3 next 5 2026-11-24T10:01:00Z\n" + twins, announcing: true,
		},
		{
			name: "a smaller copy", live: pattern + " 3\n", pool: sessions(3), twin: copyOf("twins", 2),
			want: pattern + " 3 next 2 2026-11-24T10:02:00Z\n" + twins, announcing: true,
		},
		{name: "the first copy", live: pattern + " 3\n", pool: sessions(3), twin: copyOf("twins", 3), want: pattern + " 3\n" + twins, announcing: true},
	} {
		v := View{Proxy: front(copied), Pool: row.pool, Copies: []*cachev1alpha1.Memcached{row.twin}, Now: now}
		plan, got := routesFor(v, row.live)
		if got != row.want || plan.Announcing != row.announcing {
			t.Errorf("%s: %q, announcing %t", row.name, got, plan.Announcing)
		}
	}
}

// The problem names each Memcached to which the proxies cannot route.
func TestPoolsOfCopies(t *testing.T) {
	deployment := func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = cachev1alpha1.WorkloadDeployment }
	file := func(mc *cachev1alpha1.Memcached) { mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile }
	for _, row := range []struct {
		pool, twin *cachev1alpha1.Memcached
		reason     string
		messages   []string
	}{
		{pool: sessions(3), twin: copyOf("twins", 3)},
		{sessions(3), copyOf("twins", 3, file), "InvalidReference", []string{"spec.storage.type of the Memcached twins is MemoryFile"}},
		{sessions(3), nil, "InvalidReference", []string{"spec.pools names the Memcached twins, which does not exist"}},
		{sessions(3), copyOf("twins", 3, deployment), "InvalidReference", []string{"spec.workload of the Memcached twins is Deployment"}},
		{sessions(3, deployment), nil, "InvalidReference", []string{"the Memcached sessions is Deployment", "the Memcached twins, which does not exist"}},
	} {
		plan := For(View{Proxy: front(copied), Pool: row.pool, Copies: []*cachev1alpha1.Memcached{row.twin}, Now: now}, options)
		problem := memcached.Problem{}
		if plan.Problem != nil {
			problem = *plan.Problem
		}
		if problem.Reason != row.reason {
			t.Errorf("%+v, not %s", problem, row.reason)
		}
		for _, message := range row.messages {
			if !strings.Contains(problem.Message, message) {
				t.Errorf("%q does not contain %q", problem.Message, message)
			}
		}
	}
}
