// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// lanes are how many values of the campaign are tried at the same time.
const lanes = 12

// lane is a place for one value at a time: a Memcached that is changed to it, and another one that is born with it.
type lane struct{ changed, fresh *play }

// TestEveryLeaf takes a Memcached through the edge values of every field of the spec. Each is refused with a message that
// names the field, or reached; then the objects are those of a Memcached that never had another value. And from each there
// is a way back.
func TestEveryLeaf(t *testing.T) {
	leaves, err := leaves()
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan lane, lanes)
	// One operator serves all the lanes.
	names := []string{}
	for range lanes {
		l := lane{changed: newPlace(t), fresh: newPlace(t)}
		names = append(names, l.changed.namespace, l.fresh.namespace)
		free <- l
	}
	p, err := newProxy()
	if err != nil {
		t.Fatal(err)
	}
	o, err := startOperator(t.Context(), p, strings.Join(names, ","))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("values", func(t *testing.T) {
		for _, leaf := range leaves {
			values := edgesOf(leaf)
			if len(values) == 0 {
				t.Errorf("%s has no edge values: add some to edges", leaf.path)
			}
			for _, value := range values {
				t.Run(leaf.path+"="+short(value), func(t *testing.T) {
					t.Parallel()
					l := <-free
					defer func() { free <- l }()
					lane{l.changed.in(t), l.fresh.in(t)}.try(leaf, value)
				})
			}
		}
	})
	if err := o.crash(); err != nil {
		t.Error(err)
	}
	if count := panics(); count > 0 {
		t.Errorf("%v reconciliations have panicked", count)
	}
}

// newPlace is a namespace without an operator of its own.
func newPlace(t *testing.T) *play {
	t.Helper()
	p := &play{T: t, ctx: t.Context(), namespace: fmt.Sprintf("place-%d", namespaces.Add(1))}
	p.must(user.Create(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}))
	return p
}

// in is the place for the duration of a test.
func (p *play) in(t *testing.T) *play {
	t.Helper()
	ctx, cancel := limited(t)
	t.Cleanup(cancel)
	return &play{T: t, ctx: ctx, namespace: p.namespace}
}

// try tries one value of a leaf.
func (l lane) try(leaf leaf, value string) {
	l.changed.createCache(1)
	defer l.changed.removeAll()
	l.changed.await("begin", settled)
	before := children(latest(history.of(l.changed.namespace)))
	base := &cachev1alpha1.Memcached{}
	l.changed.read(base)

	patch := `{"spec": ` + leaf.spec(value) + `}`
	patched := base.DeepCopy()
	err := user.Patch(l.changed.ctx, patched, client.RawPatch(types.MergePatchType, []byte(patch)))
	if err != nil {
		if refused := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err); !refused || !leaf.names(err.Error()) {
			l.changed.Errorf("%s is refused without a word of the field: %v", patch, err)
		}
		return
	}
	l.changed.seen(patched)
	var problem string
	l.changed.await("converge, or tell why not", func(now objects) string {
		missing := settled(now)
		problem = degraded(now)
		if problem != "" {
			return ""
		}
		return missing
	})
	if problem != "" && !leaf.names(problem) {
		l.changed.Errorf("%s is degraded without a word of the field: %s", patch, problem)
	}
	if problem == "" {
		l.sameAsFresh(patched.Spec)
	}
	spec, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": base.Spec}})
	l.changed.must(err)
	l.changed.must(user.Patch(l.changed.ctx, patched, client.RawPatch(types.JSONPatchType, spec)))
	l.changed.seen(patched)
	l.changed.await(patch+" and back to what was before (-before +after)", func(now objects) string {
		if missing := settled(now); missing != "" {
			return missing
		}
		return cmp.Diff(before, children(now)) // the histories of the kinds are not equally fast
	})
}

// sameAsFresh compares what the changed Memcached has with what a new one has.
func (l lane) sameAsFresh(spec cachev1alpha1.MemcachedSpec) {
	l.fresh.create(&cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: spec})
	defer l.fresh.removeAll()
	l.fresh.await("converge from the beginning", settled)
	fresh, changed := children(latest(history.of(l.fresh.namespace))), children(latest(history.of(l.changed.namespace)))
	if difference := cmp.Diff(fresh, changed); difference != "" {
		l.changed.Errorf("the way there makes a difference (-fresh +changed):\n%s", difference)
	}
}

// children is the state of the objects of the Memcached, without the marks of the way there.
func children(now objects) map[string]string {
	found := objects{}
	for key, object := range now {
		found[key] = object.DeepCopyObject().(client.Object)
		delete(found[key].GetAnnotations(), revisionAnnotation)
	}
	delete(found, "memcacheds/"+cacheName)
	return state(found)
}

// removeAll deletes the Memcached and waits until the cluster has deleted the rest.
func (p *play) removeAll() {
	if p.ctx.Err() == nil {
		p.remove(&cachev1alpha1.Memcached{})
		p.await("clean up", hasNone)
	}
}

// degraded is what the Memcached tells of its present generation that is wrong with it: empty if there is nothing.
func degraded(now objects) string {
	mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
	if mc == nil || mc.Status.ObservedGeneration != mc.Generation {
		return ""
	}
	condition := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded)
	reasons := []string{cachev1alpha1.ReasonInvalidSpec, cachev1alpha1.ReasonInvalidResources, cachev1alpha1.ReasonAdmissionDenied}
	if condition == nil || condition.Status != metav1.ConditionTrue || !slices.Contains(reasons, condition.Reason) {
		return ""
	}
	return condition.Message
}
