// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcachedtest makes Memcacheds, and Deployments as the API server keeps them, for the tests of desired and status.
package memcachedtest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// DefaultImage is the default image of the operator in the tests.
const DefaultImage = "docker.io/library/memcached:1.6.45"

// Options are those of the operator in the tests.
var Options = memcached.Options{DefaultImage: DefaultImage}

// Generation is that of every Memcached of Cache.
const Generation = 7

// Cache is a Memcached named "cache", with changes that are applied in order.
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

// MaxSurge sets spec.updateStrategy.maxSurge.
func MaxSurge(surge intstr.IntOrString) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.UpdateStrategy.MaxSurge = &surge }
}

// Paused holds changes back.
func Paused(mc *cachev1alpha1.Memcached) { mc.Spec.Paused = true }

// RestartedAt sets spec.restartedAt.
func RestartedAt(year int) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Spec.RestartedAt = ptr.To(metav1.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC))
	}
}

// Live is the Deployment of a Memcached as the API server keeps it.
func Live(t testing.TB, mc *cachev1alpha1.Memcached, rendered *appsv1.Deployment) *appsv1.Deployment {
	t.Helper()
	text, err := json.Marshal(rendered)
	if err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{}
	if err := json.Unmarshal(text, deployment); err != nil {
		t.Fatal(err)
	}
	deployment.UID, deployment.Generation = "deployment-uid", 1
	deployment.OwnerReferences = []metav1.OwnerReference{Controller("Memcached", mc.Name, mc.UID)}
	return deployment
}

// Controller is the reference to a controlling owner.
func Controller(kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: name, UID: uid, Controller: ptr.To(true)}
}

// Children are the objects that are not nil.
func Children(objects ...client.Object) []client.Object {
	return slices.DeleteFunc(objects, func(object client.Object) bool { return reflect.ValueOf(object).IsNil() })
}
