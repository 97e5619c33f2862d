// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/crd"
)

// parallelism is how many values are tested concurrently.
const parallelism = 12

// slot tests one value at a time: in changed, a Memcached changes to the value, and in fresh, a Memcached is created with the value.
type slot struct{ changed, fresh *sandbox }

// TestEveryField changes a Memcached to the boundary values of every spec field. Either the API server or the operator refuses the value
// with a message that names the field, or the Memcached converges. After convergence, its objects must equal those of a Memcached that was
// created with the value. The Memcached must also converge when the spec is changed back. A StatefulSet gets fewer values, since most
// refusals do not depend on the workload.
func TestEveryField(t *testing.T) {
	fields, err := specFields()
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan slot, parallelism)
	namespaces := []string{}
	for range parallelism {
		s := slot{changed: newSandbox(t.Context(), t), fresh: newSandbox(t.Context(), t)}
		namespaces = append(namespaces, s.changed.namespace, s.fresh.namespace)
		free <- s
	}
	startSharedOperator(t, namespaces...)
	for name, workload := range map[string]cachev1alpha1.WorkloadKind{
		"values": cachev1alpha1.WorkloadDeployment, "statefulset": cachev1alpha1.WorkloadStatefulSet,
	} {
		t.Run(name, func(t *testing.T) {
			for _, field := range fields {
				values := valuesFor(field, workload)
				if len(values) == 0 {
					t.Errorf("%s has no boundary values: add some to boundaryValues", field.Path)
				}
				for _, value := range values {
					t.Run(field.Path+"="+short(value), func(t *testing.T) {
						t.Parallel()
						s := <-free
						defer func() { free <- s }()
						slot{s.changed.forTest(t), s.fresh.forTest(t)}.try(field, value, workload)
					})
				}
			}
		})
	}
}

// try tests one value of a field in a Memcached with this workload.
func (s slot) try(field crd.Field, value string, workload cachev1alpha1.WorkloadKind) {
	s.changed.createCache(1, func(spec *cachev1alpha1.MemcachedSpec) { spec.Workload = workload })
	defer s.changed.removeAll()
	s.changed.await("begin", settled)
	before := children(latest(history.of(s.changed.namespace)))
	base := &cachev1alpha1.Memcached{}
	s.changed.read(base)

	patch := `{"spec": ` + field.Spec(value) + `}`
	patched := base.DeepCopy()
	err := user.Patch(s.changed.ctx, patched, client.RawPatch(types.MergePatchType, []byte(patch)))
	if err != nil {
		if refused := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err); !refused || !names(field, err.Error()) {
			s.changed.Errorf("the error for %s does not name the field: %v", patch, err)
		}
		return
	}
	s.changed.awaitWrite(patched)
	var problem string
	s.changed.await("converge or report why not", func(now objects) string {
		missing := settled(now)
		problem = degraded(now)
		if problem != "" {
			return ""
		}
		return missing
	})
	if problem != "" && !names(field, problem) {
		s.changed.Errorf("the Degraded condition for %s does not name the field: %s", patch, problem)
	}
	switch {
	case patched.Spec.Paused: // a new Memcached that is paused has no objects to compare with
		if difference := cmp.Diff(before, children(latest(history.of(s.changed.namespace)))); difference != "" {
			s.changed.Errorf("the pause held nothing back (-before +after):\n%s", difference)
		}
	case problem == "":
		s.sameAsFresh(patched.Spec)
	}
	if !patched.Spec.RestartedAt.IsZero() { // changing restartedAt back keeps the state of the restarted nodes
		before = children(latest(history.of(s.changed.namespace)))
	}
	spec, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": base.Spec}})
	s.changed.must(err)
	s.changed.must(user.Patch(s.changed.ctx, patched, client.RawPatch(types.JSONPatchType, spec)))
	s.changed.awaitWrite(patched)
	s.changed.await(patch+" and back to the original spec (-before +after)", func(now objects) string {
		if missing := settled(now); missing != "" {
			return missing
		}
		return cmp.Diff(before, children(now)) // the events of some kinds may arrive late
	})
}

// sameAsFresh compares the objects of the changed Memcached with those of a new one.
func (s slot) sameAsFresh(spec cachev1alpha1.MemcachedSpec) {
	s.fresh.create(&cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: spec})
	defer s.fresh.removeAll()
	s.fresh.await("converge after creation", settled)
	fresh, changed := children(latest(history.of(s.fresh.namespace))), children(latest(history.of(s.changed.namespace)))
	if difference := cmp.Diff(fresh, changed); difference != "" {
		s.changed.Errorf("the changed Memcached differs from a new one (-fresh +changed):\n%s", difference)
	}
}

// children returns the state of the Memcached's objects, except for fields that depend on their history.
func children(now objects) map[string]string {
	found := objects{}
	for key, object := range now {
		found[key] = object.DeepCopyObject().(client.Object)
		delete(found[key].GetAnnotations(), revisionAnnotation)
	}
	delete(found, "memcacheds/"+cacheName)
	return state(found)
}

// degraded returns the problem that the Memcached reports for its current generation, or nothing if there is none.
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
