// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TestEvents checks which events belong to a cache or a proxy named "shop". Names of other applications also begin with "shop". The objects
// of the events do not exist, so only their names show to which owner they belonged.
func TestEvents(t *testing.T) {
	cache := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"}}
	proxy := &cachev1alpha1.MemcachedProxy{ObjectMeta: cache.ObjectMeta}
	for _, test := range []struct {
		kind, name   string
		cache, proxy bool
	}{
		{"Memcached", "shop", true, false},
		{"MemcachedProxy", "shop", false, true},
		{"Memcached", "shop-2", false, false},
		{"Service", "shop", true, true},
		{"Service", "shop-frontend", false, false},
		{"Ingress", "shop", false, false},
		{"PodDisruptionBudget", "shop", true, true},
		{"NetworkPolicy", "shop", true, true},
		{"ConfigMap", "shop-servers", true, false},
		{"ConfigMap", "shop-arguments", true, false},
		{"ConfigMap", "shop-routes", false, true},
		{"ConfigMap", "shop-settings", false, false},
		{"Deployment", "shop", true, true},
		{"Deployment", "shop-frontend", false, false},
		{"StatefulSet", "shop", true, false},
		{"StatefulSet", "shop-db", false, false},
		{"ReplicaSet", "shop-7d9f8c6b5d", true, true},
		{"ReplicaSet", "shop-frontend-7d9f8c6b5d", false, false},
		{"ReplicaSet", "shop-backend", false, false},
		{"Pod", "shop-0", true, true},
		{"Pod", "shop-12", true, true},
		{"Pod", "shop-2-0", false, false},
		{"Pod", "shop-db-0", false, false},
		{"Pod", "shop-7d9f8c6b5d-kx2lm", true, true},
		{"Pod", "shop-7d9f8c6kx2lm", true, true}, // after a long name of the owner, the second hyphen is missing
		{"Pod", "shop-2-7d9f8c6b5d-kx2lm", false, false},
		{"Pod", "shop-frontend-7d9f8c6b5d-kx2lm", false, false},
		{"Pod", "shop-http-kx2lm", false, false},
		{"Pod", "shop", false, false},
		{"Pod", "shopping-0", false, false},
		{"EndpointSlice", "shop-kx2lm", true, true},
		{"EndpointSlice", "shop-http-kx2lm", false, false},
		{"PersistentVolumeClaim", "shop-0", false, false},
	} {
		w := newWorld(t, interceptor.Funcs{})
		if err := w.client.Create(t.Context(), event(test.name, test.kind, "Happened")); err != nil {
			t.Fatal(err)
		}
		for _, about := range []struct {
			owner client.Object
			want  bool
		}{{cache, test.cache}, {proxy, test.proxy}} {
			found, err := w.cluster("shop").events(t.Context(), about.owner)
			if got := len(found) == 1; err != nil || got != about.want {
				t.Errorf("%s/%s is about the %T: got %t, want %t (%v)", test.kind, test.name, about.owner, got, about.want, err)
			}
		}
	}
}
