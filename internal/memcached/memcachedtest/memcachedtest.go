// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcachedtest builds Memcacheds, and objects in the form that the API server stores, for tests.
package memcachedtest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// DefaultImage is the default image of the operator in the tests.
const DefaultImage = "docker.io/library/memcached:1.6.45"

// AgentImage is the image of the agent in the tests.
const AgentImage = "example.com/memcached-operator-agent:v0.1.0"

// Options are the operator's options in the tests.
var Options = memcached.Options{DefaultImage: DefaultImage, AgentImage: AgentImage}

// Generation is the generation of every Memcached that Cache returns.
const Generation = 7

// Cache returns a Memcached named "cache", to which it applies the changes in order.
func Cache(size int32, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Name: "cache", Namespace: "shop", UID: "cache-uid", Generation: Generation},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, change := range changes {
		change(mc)
	}
	return mc
}

// Image sets spec.image.
func Image(image string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Image = image }
}

// Size sets spec.size.
func Size(size int32) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size }
}

// Paused sets spec.paused.
func Paused(mc *cachev1alpha1.Memcached) { mc.Spec.Paused = true }

// RestartedAt sets spec.restartedAt to the first second of a year.
func RestartedAt(year int) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.RestartedAt = ptr.To(metav1.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC))
	}
}

// View returns the View of a Memcached, for tests in which the time does not matter.
func View(mc *cachev1alpha1.Memcached, observed memcached.Observed) memcached.View {
	return memcached.NewView(mc, observed, time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC))
}

// Live returns a desired object in the form that the API server stores: with a UID, generation 1, and the Memcached as its owner.
func Live[T client.Object](t testing.TB, mc *cachev1alpha1.Memcached, rendered T) T {
	t.Helper()
	text, err := json.Marshal(rendered)
	if err != nil {
		t.Fatal(err)
	}
	live := reflect.New(reflect.TypeOf(rendered).Elem()).Interface().(T) //nolint:forcetypeassert // it is of the type of rendered
	if err := json.Unmarshal(text, live); err != nil {
		t.Fatal(err)
	}
	live.SetUID(types.UID(strings.ToLower(rendered.GetObjectKind().GroupVersionKind().Kind) + "-uid"))
	live.SetGeneration(1)
	live.SetOwnerReferences([]metav1.OwnerReference{Controller("Memcached", mc.Name, mc.UID)})
	return live
}

// Controller returns a reference to an owner that controls an object.
func Controller(kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: name, UID: uid, Controller: ptr.To(true)}
}

// Children returns the objects that are not nil.
func Children(objects ...client.Object) []client.Object {
	return slices.DeleteFunc(objects, func(object client.Object) bool { return reflect.ValueOf(object).IsNil() })
}
