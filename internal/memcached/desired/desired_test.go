// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestDesiredIsByteStable fails if the order of elements in an object depends on the iteration over a map. Each such difference
// would cause a write, and in the pod template a rollout.
func TestDesiredIsByteStable(t *testing.T) {
	const repetitions = 1000
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first := encoded(t, objectsOf(t, c.mc, memcached.Observed{}, c.opts))
			for range repetitions - 1 {
				if again := encoded(t, objectsOf(t, c.mc, memcached.Observed{}, c.opts)); !bytes.Equal(first, again) {
					t.Fatalf("rendered differently (-first +again):\n%s", cmp.Diff(string(first), string(again)))
				}
			}
		})
	}
}

func TestDesiredDoesNotChangeItsInput(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			observed := memcached.Observed{Children: []client.Object{liveWorkload(t, c.mc, c.opts).Object}}
			mc, workload := c.mc.DeepCopy(), observed.Children[0].DeepCopyObject()
			objectsOf(t, c.mc, observed, c.opts)
			if diff := cmp.Diff(mc, c.mc); diff != "" {
				t.Errorf("the Memcached was changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(workload, any(observed.Children[0])); diff != "" {
				t.Errorf("the live workload was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestDesiredSharesNothing checks that the desired objects share no memory with the Memcached and the live workload. All workers
// read these from the cache.
func TestDesiredSharesNothing(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			observed := memcached.Observed{Children: []client.Object{liveWorkload(t, c.mc, c.opts).Object}}
			inputs := pointers(append(observed.Children, c.mc)...)
			for _, object := range objectsOf(t, c.mc, observed, c.opts) {
				for pointer, path := range pointers(object) {
					if input, shared := inputs[pointer]; shared {
						t.Errorf("%T%s is the same memory as the input's %s", object, path, input)
					}
				}
			}
		})
	}
}

// pointers finds all pointers, maps and slices in objects. It returns the path of each, by address.
func pointers(objects ...client.Object) map[uintptr]string {
	found := map[uintptr]string{}
	for _, object := range objects {
		walk(reflect.ValueOf(object).Elem(), "", found)
	}
	return found
}

func walk(value reflect.Value, path string, found map[uintptr]string) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			found[value.Pointer()] = path
			walk(value.Elem(), path, found)
		}
	case reflect.Map:
		if !value.IsNil() {
			found[value.Pointer()] = path
			for _, key := range value.MapKeys() {
				walk(value.MapIndex(key), path+"."+key.String(), found)
			}
		}
	case reflect.Slice:
		if value.Len() > 0 {
			found[value.Pointer()] = path
			for i := range value.Len() {
				walk(value.Index(i), path+"[]", found)
			}
		}
	case reflect.Struct:
		for i := range value.NumField() {
			walk(value.Field(i), path+"."+value.Type().Field(i).Name, found)
		}
	}
}

func encoded(t testing.TB, objects []client.Object) []byte {
	t.Helper()
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func encodedSpec(t testing.TB, workload client.Object) []byte {
	t.Helper()
	child, _ := memcached.ChildOf(workload)
	text, err := json.MarshalIndent(child.Spec(workload), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOurLabelsWin sets labels that selectors use. The schema would refuse such labels. The objects must keep the operator's values,
// because with the user's values, the selectors would not match the pods.
func TestOurLabelsWin(t *testing.T) {
	mc := memcachedtest.Cache(3)
	mine := map[string]cachev1alpha1.LabelValue{"team": "a", memcached.InstanceLabel: "another", memcached.ManagedByLabel: "me", "app.kubernetes.io/name": "redis"}
	mc.Spec.PodMetadata.Labels, mc.Spec.Service.Labels = mine, mine
	want := map[string]string{
		"team":                         "a",
		"app.kubernetes.io/name":       "memcached",
		"app.kubernetes.io/instance":   "cache",
		"app.kubernetes.io/managed-by": "memcached-operator",
		"app.kubernetes.io/component":  "cache",
		"app.kubernetes.io/part-of":    "memcached",
	}
	if diff := cmp.Diff(want, live(t, mc, memcachedtest.Options).Spec.Template.Labels); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, Service(mc).Labels); diff != "" {
		t.Errorf("Service (-want +got):\n%s", diff)
	}
}

// TestRecommendedLabels covers labels that only describe an object. Users may override them, for example to name an application.
func TestRecommendedLabels(t *testing.T) {
	const component, partOf = "app.kubernetes.io/component", "app.kubernetes.io/part-of"
	mc := memcachedtest.Cache(3)
	for _, object := range objectsOf(t, mc, memcached.Observed{}, memcachedtest.Options) {
		labels := object.GetLabels()
		if labels[component] != "cache" || labels[partOf] != "memcached" {
			t.Errorf("%s has the labels %v", object.GetObjectKind().GroupVersionKind().Kind, labels)
		}
	}
	theirs := map[string]cachev1alpha1.LabelValue{component: "sessions", partOf: "shop"}
	mc.Spec.PodMetadata.Labels, mc.Spec.Service.Labels = theirs, theirs
	deployment := live(t, mc, memcachedtest.Options)
	for what, labels := range map[string]map[string]string{"pods": deployment.Spec.Template.Labels, "Service": Service(mc).Labels} {
		if labels[component] != "sessions" || labels[partOf] != "shop" {
			t.Errorf("%s: the user's labels are not those of the object: %v", what, labels)
		}
	}
}
