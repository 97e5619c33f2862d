// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
	row := memcached.Children[slices.IndexFunc(memcached.Children, func(child memcached.Child) bool {
		return reflect.TypeOf(child.New()) == reflect.TypeOf(workload)
	})]
	text, err := json.MarshalIndent(row.Spec(workload), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestLabels sets labels that selectors use, which the schema would refuse, and labels that only describe an object. The objects must keep
// the operator's values of the former, because with the user's values, the selectors would not match the pods.
func TestLabels(t *testing.T) {
	mc := memcachedtest.Cache(3)
	mine := map[string]cachev1alpha1.LabelValue{
		"team": "a", memcached.InstanceLabel: "another", memcached.ManagedByLabel: "me", memcached.NameLabel: "redis",
		"app.kubernetes.io/component": "sessions",
	}
	mc.Spec.PodMetadata.Labels, mc.Spec.Service.Labels = mine, mine
	want := memcached.SelectorLabels(mc)
	want["team"], want["app.kubernetes.io/component"], want["app.kubernetes.io/part-of"] = "a", "sessions", "memcached"
	if diff := cmp.Diff(want, live(t, mc, memcachedtest.Options).Spec.Template.Labels); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, Service(mc).Labels); diff != "" {
		t.Errorf("Service (-want +got):\n%s", diff)
	}
}

// TestAnotherWorkloadIsNotDesired covers a workload of a Kind that the spec does not ask for, such as one that somebody has restored.
// Whoever it belongs to, it is none of the desired objects, and its size and pods have no effect on the nodes.
func TestAnotherWorkloadIsNotDesired(t *testing.T) {
	for _, kind := range []cachev1alpha1.WorkloadKind{deploymentKind, statefulSetKind} {
		for name, owner := range map[string]*metav1.OwnerReference{
			"ours": {}, "theirs": ptr.To(memcachedtest.Controller("Helm", "cache", "other-uid")), "nobody's": nil,
		} {
			t.Run(string(kind)+" that is "+name, func(t *testing.T) {
				other := liveWorkload(t, memcachedtest.Cache(2, workloadKind(kind)), memcachedtest.Options).Object
				switch {
				case owner == nil:
					other.SetOwnerReferences(nil)
				case owner.UID != "":
					other.SetOwnerReferences([]metav1.OwnerReference{*owner})
				}
				mc := memcachedtest.Cache(3, workloadKind(deploymentKind))
				if kind == deploymentKind {
					mc.Spec.Workload = statefulSetKind
				}
				want := objectsOf(t, mc, memcached.Observed{}, memcachedtest.Options)
				got := objectsOf(t, mc, memcached.Observed{Children: []client.Object{other}}, memcachedtest.Options)
				if difference := cmp.Diff(want, got); difference != "" {
					t.Errorf("it changes the desired objects (-without +with):\n%s", difference)
				}
			})
		}
	}
}
