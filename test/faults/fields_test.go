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

// parallelism is how many values TestEveryField tests, and how many Memcacheds TestEndurance changes, at the same time.
const parallelism = 12

// slot is a pair of namespaces that test one value at a time. In the namespace changed, an existing Memcached gets the value. In the
// namespace fresh, a Memcached is created with the value.
type slot struct{ changed, fresh *sandbox }

// TestEveryField changes a Memcached to the boundary values of every spec field. If the API server or the operator refuses a value,
// the message must name the field. If a value pauses the Memcached, its objects must not change. After any other value, the Memcached
// must converge to the same objects as a Memcached that was created with the value. Finally, the test restores the original spec, and
// the Memcached must converge to it. With a StatefulSet, the test uses fewer values, because most refusals do not depend on the
// workload.
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

// try tests one value of a field in Memcacheds with this workload.
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
	case patched.Spec.Paused: // a Memcached that is created paused has no objects to compare with
		if difference := cmp.Diff(before, children(latest(history.of(s.changed.namespace)))); difference != "" {
			s.changed.Errorf("the pause held nothing back (-before +after):\n%s", difference)
		}
	case problem == "":
		s.sameAsFresh(patched.Spec)
	}
	if !patched.Spec.RestartedAt.IsZero() { // the objects keep restartedAt when it is removed from the spec
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
		return cmp.Diff(before, children(now)) // await repeats this, because one watch may lag behind another
	})
}

// sameAsFresh creates a Memcached with this spec, and compares its objects with those of the changed Memcached.
func (s slot) sameAsFresh(spec cachev1alpha1.MemcachedSpec) {
	s.fresh.create(&cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: spec})
	defer s.fresh.removeAll()
	s.fresh.await("converge after creation", settled)
	fresh, changed := children(latest(history.of(s.fresh.namespace))), children(latest(history.of(s.changed.namespace)))
	if difference := cmp.Diff(fresh, changed); difference != "" {
		s.changed.Errorf("the changed Memcached differs from a new one (-fresh +changed):\n%s", difference)
	}
}

// children returns the state of all objects except the Memcached. It leaves out a Deployment's revision, which depends on earlier
// changes.
func children(now objects) map[string]string {
	found := objects{}
	for key, object := range now {
		found[key] = object.DeepCopyObject().(client.Object)
		delete(found[key].GetAnnotations(), revisionAnnotation)
	}
	delete(found, "memcacheds/"+cacheName)
	return state(found)
}

// degraded returns the message of the Degraded condition if the current spec is refused, or else an empty string.
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
