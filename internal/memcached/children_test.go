// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TestNamesOfChildren derives each child's name from a Memcached, and the Memcached from that name.
func TestNamesOfChildren(t *testing.T) {
	suffixes := map[string][]string{}
	for _, child := range Children {
		kind := child.Kind.String()
		suffixes[kind] = append(suffixes[kind], child.Suffix)
		for _, name := range []string{"cache", "cache-servers", "servers", "cache-arguments", "arguments"} {
			memcached := types.NamespacedName{Namespace: "shop", Name: name}
			object := client.ObjectKeyFromObject(child.Named(memcached))
			if object != (types.NamespacedName{Namespace: "shop", Name: name + child.Suffix}) {
				t.Errorf("the %s of %s is %s", child.Kind.Kind, memcached, object)
			}
			if got := child.OwnerOf(object); got != memcached {
				t.Errorf("the %s %s is that of %s", child.Kind.Kind, object, got)
			}
			if owners := OwnersOf(child.Named(memcached)); !slices.Contains(owners, memcached) {
				t.Errorf("the %s %s is that of %v", child.Kind.Kind, object, owners)
			}
		}
		stranger := types.NamespacedName{Namespace: "shop", Name: "stranger"}
		if got := child.OwnerOf(stranger); child.Suffix != "" && got.Name != "" {
			t.Errorf("the %s %s is that of %s", child.Kind.Kind, stranger, got)
		}
	}
	if !slices.Equal(suffixes["/v1, Kind=ConfigMap"], []string{"-servers", "-arguments"}) {
		t.Errorf("the suffixes are %v", suffixes)
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
