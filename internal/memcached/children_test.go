// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TestNamesOfChildren derives each child's name and labels from a Memcached, and the Memcached from these. Memcacheds may be named like
// children of others.
func TestNamesOfChildren(t *testing.T) {
	for _, child := range Children {
		for _, name := range []string{"cache", "cache-servers", "servers", "cache-arguments", "cache-nodes", "cache-proxy", "cache-routes", "proxy"} {
			owner := types.NamespacedName{Namespace: "shop", Name: name}
			object := child.Named(owner)
			if key := client.ObjectKeyFromObject(object); key != (types.NamespacedName{Namespace: "shop", Name: name + child.Suffix}) {
				t.Errorf("the %s of %s is %s", child.Kind.Kind, owner, key)
			}
			if got := child.OwnerOf(client.ObjectKeyFromObject(object)); got != owner || !slices.Contains(OwnersOf(object), owner) {
				t.Errorf("the %s %s is that of %s, or of one of %v", child.Kind.Kind, object.GetName(), got, OwnersOf(object))
			}
			object.SetLabels(IdentityOf(name, object))
			if child.Proxy != (object.GetLabels()[NameLabel] == ProxyName) {
				t.Errorf("the %s %s has the labels %v", child.Kind.Kind, object.GetName(), object.GetLabels())
			}
			if diff := cmp.Diff(child.Fields, FieldRules(child.Kind, object.GetName())); diff != "" {
				t.Errorf("the rules of the %s %s (-want +got):\n%s", child.Kind.Kind, object.GetName(), diff)
			}
		}
		stranger := types.NamespacedName{Namespace: "shop", Name: "stranger"}
		if got := child.OwnerOf(stranger); child.Suffix != "" && got.Name != "" {
			t.Errorf("the %s %s is that of %s", child.Kind.Kind, stranger, got)
		}
	}
}

// TestExpectedWorkloads checks which workloads the operator requests from the API server when they are missing from the cache.
func TestExpectedWorkloads(t *testing.T) {
	const deployment, statefulSet = cachev1alpha1.WorkloadDeployment, cachev1alpha1.WorkloadStatefulSet
	both := []cachev1alpha1.WorkloadKind{deployment, statefulSet}
	for _, row := range []struct {
		name   string
		wanted cachev1alpha1.WorkloadKind
		status cachev1alpha1.MemcachedStatus
		want   []cachev1alpha1.WorkloadKind
	}{
		{name: "a new cache", wanted: deployment},
		{
			name: "a Deployment", wanted: deployment, want: both[:1],
			status: cachev1alpha1.MemcachedStatus{Image: "memcached", Nodes: []string{"cache-6d4cf56db6-x7x2z"}},
		},
		{
			name: "a StatefulSet", wanted: statefulSet, want: both[1:],
			status: cachev1alpha1.MemcachedStatus{Image: "memcached", Nodes: []string{"cache-0"}, Servers: []string{"cache-0.cache:11211"}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			mc := &cachev1alpha1.Memcached{
				ObjectMeta: metav1.ObjectMeta{Name: "cache"},
				Spec:       cachev1alpha1.MemcachedSpec{Size: 3, Workload: row.wanted},
				Status:     row.status,
			}
			var got []cachev1alpha1.WorkloadKind
			for _, child := range Children {
				if child.Workload && child.Expected(mc) {
					got = append(got, cachev1alpha1.WorkloadKind(child.Kind.Kind))
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("expected are %v, want %v", got, row.want)
			}
		})
	}
}
