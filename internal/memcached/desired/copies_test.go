// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func fillsFrom(name string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Workload = statefulSetKind
		mc.Spec.FillFrom, mc.Spec.Config.Dump = &cachev1alpha1.MemcachedFillFrom{Name: name}, ptr.To(true)
	}
}

// TestObjectsOfTwins checks the objects of a cache without a twin, and of a cache with a twin. One of the twins names the other in
// spec.fillFrom, or each names the other. In some rows, nodes cannot copy items from the twin.
func TestObjectsOfTwins(t *testing.T) {
	t.Parallel()
	clients := func(mc *cachev1alpha1.Memcached) {
		mc.Spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}
	}
	for name, test := range map[string]struct {
		cache, twin []func(*cachev1alpha1.Memcached)
		fill        string
		unready     bool
		admits      string
		problem     bool
	}{
		"alone":              {cache: []func(*cachev1alpha1.Memcached){workloadKind(statefulSetKind), clients}},
		"a twin of each":     {cache: []func(*cachev1alpha1.Memcached){fillsFrom("twin"), clients}, twin: []func(*cachev1alpha1.Memcached){fillsFrom("cache")}, fill: "twin shop 2\n", unready: true, admits: "twin"},
		"one that is named":  {cache: []func(*cachev1alpha1.Memcached){workloadKind(statefulSetKind), clients}, twin: []func(*cachev1alpha1.Memcached){fillsFrom("cache")}, admits: "twin"},
		"one that names":     {cache: []func(*cachev1alpha1.Memcached){fillsFrom("twin"), clients}, twin: []func(*cachev1alpha1.Memcached){workloadKind(statefulSetKind), func(mc *cachev1alpha1.Memcached) { mc.Spec.Config.Dump = ptr.To(true) }}, fill: "twin shop 2\n", unready: true},
		"a twin with users":  {cache: []func(*cachev1alpha1.Memcached){fillsFrom("twin")}, twin: []func(*cachev1alpha1.Memcached){fillsFrom("x"), func(mc *cachev1alpha1.Memcached) { mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "a"} }}, unready: true, problem: true},
		"a twin with TLS":    {cache: []func(*cachev1alpha1.Memcached){fillsFrom("twin")}, twin: []func(*cachev1alpha1.Memcached){fillsFrom("x"), func(mc *cachev1alpha1.Memcached) { mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{SecretName: "a"} }}, unready: true, problem: true},
		"a twin with a file": {cache: []func(*cachev1alpha1.Memcached){fillsFrom("twin")}, twin: []func(*cachev1alpha1.Memcached){fillsFrom("x"), func(mc *cachev1alpha1.Memcached) { mc.Spec.Storage.Type = cachev1alpha1.StorageMemoryFile }}, unready: true, problem: true},
		"a Deployment":       {cache: []func(*cachev1alpha1.Memcached){fillsFrom("twin")}, twin: []func(*cachev1alpha1.Memcached){func(*cachev1alpha1.Memcached) {}}, unready: true, problem: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mc := memcachedtest.Cache(3, test.cache...)
			view := memcachedtest.View(mc, memcached.Observed{})
			if test.twin != nil {
				twin := memcachedtest.Cache(2, test.twin...)
				twin.Name = "twin"
				view.Twins = []memcached.View{memcachedtest.View(twin, memcached.Observed{})}
			}
			live := memcachedtest.Live(t, mc, For(view, memcachedtest.Options).Workload().(*appsv1.StatefulSet))
			full := memcachedtest.View(mc, memcached.Observed{Children: memcachedtest.Children(live)})
			full.Twins = view.Twins
			plan := For(full, memcachedtest.Options)
			if (plan.Twins.Problem != nil) != test.problem {
				t.Errorf("problem: %+v", plan.Twins.Problem)
			}
			admits := ""
			for _, object := range plan.Objects {
				switch object := object.(type) {
				case *corev1.Service:
					if object.Spec.PublishNotReadyAddresses != test.unready {
						t.Error("addresses that are not ready")
					}
				case *corev1.ConfigMap:
					if got := object.Data[protocol.TwinKey]; object.Name == "cache-arguments" && got != test.fill {
						t.Errorf("filled from %q, want %q", got, test.fill)
					}
				case *networkingv1.NetworkPolicy:
					last := object.Spec.Ingress[len(object.Spec.Ingress)-1]
					if last.Ports[0].Port.IntVal == memcached.Port && last.From[0].PodSelector != nil {
						admits = last.From[0].PodSelector.MatchLabels[memcached.InstanceLabel]
					}
				}
			}
			if admits != test.admits {
				t.Errorf("the policy admits %q, want %q", admits, test.admits)
			}
		})
	}
}
