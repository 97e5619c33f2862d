// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// twins makes a cache named "copies" the twin of the cache "pages", and gives "pages" five nodes. The launcher of the last node does
// not answer.
func twins(t *testing.T, w *world) {
	t.Helper()
	copies := newCache("shop", "copies", 0, cachev1alpha1.WorkloadStatefulSet)
	if err := w.client.Create(t.Context(), copies); err != nil {
		t.Fatal(err)
	}
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Size = 5
		mc.Spec.Config.Dump = ptr.To(true)
		mc.Spec.FillFrom = &cachev1alpha1.MemcachedFillFrom{Name: "copies"}
	})
	w.launchers = map[string]string{}
	for name, fill := range map[string]string{
		"pages-0": `"state":"Done","items":5999,"bytes":599900,"present":1,"refused":2,"seconds":0.6`,
		"pages-1": `"state":"Failed","items":12,"bytes":1200,"present":0,"seconds":10,"reason":"dial tcp 10.244.0.31:11211: connection refused"`,
		"pages-2": `"state":"Waiting"`,
		"pages-3": `"state":"Copying","items":70,"bytes":7000,"seconds":0.1`,
		"pages-4": "",
	} {
		if name > "pages-1" {
			if err := w.client.Create(t.Context(), newPod(newCache("shop", "pages", 5, ""), name, "10.244.0.2"+name[6:])); err != nil {
				t.Fatal(err)
			}
			w.memcacheds[name] = newMemcached(t, 1)
		}
		if fill != "" {
			w.launchers[name] = `{"hash":"a","fill":{"from":"copies-` + name[6:] + `.copies.shop.svc:11211",` + fill + `}}`
		}
	}
}

// The YAML output also contains what the launchers report about the copy of items. A launcher that reports no copy adds nothing.
func TestFillsInDocuments(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	twins(t, w)
	got := w.run(t, "", "status", "pages", "--interval=0", "--output=yaml").stdout
	for _, want := range []string{"from: copies-0.copies.shop.svc:11211", "state: Failed", "refused: 2", "problem: 'its launcher does not say"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got)
		}
	}
	for _, name := range []string{"pages-0", "pages-1", "pages-2", "pages-3", "pages-4"} {
		w.launchers[name] = `{"hash":"a"}`
	}
	if got := w.run(t, "", "status", "pages", "--interval=0").stdout; strings.Contains(got, "FILL") {
		t.Error(got)
	}
}

// Nodes with a twin are not empty after a restart: their items come back from the twin.
func TestRestartOfTwins(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	twins(t, w)
	sized := func(size int32) string {
		change(t, w, &cachev1alpha1.Memcached{}, "copies", func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
		return w.run(t, "n\n", "restart", "pages").String()
	}
	if got := sized(0); strings.Contains(got, "come back") || !strings.Contains(got, "lost") {
		t.Errorf("with a twin without nodes: %s", got)
	}
	if got := sized(3); !strings.Contains(got, "Nodes 3 and up have no twin, and lose their items.") {
		t.Errorf("with a smaller twin: %s", got)
	}
	got := sized(5)
	if !strings.Contains(got, "come back. Each node copies them from its twin in copies") || strings.Contains(got, "lost") {
		t.Error(got)
	}
	forbidFlush(t, w)
	if got := w.run(t, "", "flush", "pages").stderr; !strings.Contains(got, "refuses: set it to true. A restart does not help") {
		t.Error(got)
	}
	degrade := func(reason string) {
		change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
			meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{
				Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason,
			})
		})
	}
	degrade(cachev1alpha1.ReasonNodesUnfilled)
	if got := w.run(t, "n\n", "restart", "pages").String(); !strings.Contains(got, "come back") || !strings.Contains(got, "Some nodes may not") {
		t.Errorf("with a node that was not filled: %s", got)
	}
	degrade(cachev1alpha1.ReasonTwinUnusable)
	if got := w.run(t, "n\n", "restart", "pages").String(); strings.Contains(got, "come back") || !strings.Contains(got, "lost") {
		t.Errorf("with a twin that cannot be used: %s", got)
	}
}
