// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// TestStatefulSetAlwaysReplaces covers a maxUnavailable that is unset, 0 or 0%. It counts as 1, because with 0, nodes of a
// StatefulSet could never be replaced.
func TestStatefulSetAlwaysReplaces(t *testing.T) {
	for _, wanted := range []*string{nil, ptr.To("0"), ptr.To("0%")} {
		mc := memcachedtest.Cache(1, workloadKind(statefulSetKind))
		if wanted != nil {
			mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.Parse(*wanted))
		}
		if surge, unavailable := updateLimits(mc); surge.String() != "0" || unavailable.String() != "1" {
			t.Errorf("maxSurge %s, maxUnavailable %s", surge.String(), unavailable.String())
		}
	}
}
