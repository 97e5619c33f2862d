// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/test/golden"
	"github.com/example/memcached-operator/test/repository"
)

// TestSampleOfCopies checks the sample of two caches that copy their items from each other. Both caches have the same affinity. One
// PodDisruptionBudget covers the nodes of both, and the first cache has no budget of its own. The proxy has both as its pools.
func TestSampleOfCopies(t *testing.T) {
	texts := strings.Split(repository.Read(t, "config", "samples", "copies", "cache_v1alpha1_memcached_copies.yaml"), "\n---\n")
	if len(texts) != 4 {
		t.Fatalf("%d objects", len(texts))
	}
	first, second := stored(t, []byte(texts[0])), stored(t, []byte(texts[1]))
	first.Namespace, second.Namespace = "shop", "shop"
	of := func(mc, twin *cachev1alpha1.Memcached) (*appsv1.StatefulSet, []client.Object) {
		view := memcachedtest.View(mc, memcached.Observed{})
		view.Twins = []memcached.View{memcachedtest.View(twin, memcached.Observed{})}
		plan := For(view, memcachedtest.Options)
		if plan.Problem != nil {
			t.Fatal(plan.Problem)
		}
		return plan.Workload().(*appsv1.StatefulSet), plan.Objects
	}
	set, objects := of(first, second)
	golden.Compare(t, "testdata/copies-sample.yaml", objects, *update, "read the comment in golden_test.go before -update")
	twinSet, _ := of(second, first)
	if diff := cmp.Diff(set.Spec.Template.Spec.Affinity, twinSet.Spec.Template.Spec.Affinity); diff != "" || second.Spec.FillFrom.Name != first.Name {
		t.Errorf("the second copy differs: %s", diff)
	}
	var budget policyv1.PodDisruptionBudget
	var proxy cachev1alpha1.MemcachedProxy
	for text, object := range map[string]any{texts[2]: &budget, texts[3]: &proxy} {
		if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
			t.Fatal(err)
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	for _, pods := range []*appsv1.StatefulSet{set, twinSet} {
		if !selector.Matches(labels.Set(pods.Spec.Template.Labels)) {
			t.Errorf("the budget does not cover the nodes of %s", pods.Name)
		}
	}
	pools := []cachev1alpha1.MemcachedProxyPool{{Name: first.Name}, {Name: second.Name}}
	if !slices.Equal(proxy.Spec.Pools, pools) || slices.ContainsFunc(objects, isBudget) {
		t.Errorf("pools %v, or a budget of one cache", proxy.Spec.Pools)
	}
}

func isBudget(object client.Object) bool {
	_, is := object.(*policyv1.PodDisruptionBudget)
	return is
}
