// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of an owner into their desired state with as few requests as possible. It never changes an
// object of another owner.
//
// Words: the target is the live object with everything as desired. Drift is a difference between the two that somebody else has made, and a
// correction undoes it. An object is contested while somebody keeps undoing its corrections.
//
// Each write carries the resource version of the object that was compared, so it never undoes what the comparison did not see. A creation
// is an apply with the resource version "1": if the object exists, the API server answers 409. A change is a merge patch from the live
// object to the target. It contains only what differs, so fields that a newer API server knows stay.
//
// While the cache lacks a write of this process, the plan compares an older version. Then nothing is written twice: the object is read
// before a change, and has another resource version.
package apply

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply/field"
)

// Options of an Applier.
type Options struct {
	// FieldOwner is the field manager of every write. It must never change: fields of the old manager would stay forever.
	FieldOwner string
	// HashAnnotation is the key of the annotation with the hash of the desired object as it was last written.
	HashAnnotation string
	// Identity returns the labels that an object of an owner has.
	Identity func(owner, object client.Object) map[string]string
	// Rules returns the rules for the fields of an object of this Kind and name.
	Rules func(kind schema.GroupVersionKind, name string) field.Rules
}

// Applier writes the objects of owners.
type Applier struct {
	Options

	client    client.Client
	live      client.Reader
	clock     clock.PassiveClock
	converter managedfields.TypeConverter
	memories  memories
}

// New returns an Applier that writes with the client c. It reads with the reader live, which must not use the cache.
func New(c client.Client, live client.Reader, clock clock.PassiveClock, opts Options) *Applier {
	return &Applier{
		Options: opts, client: c, live: live, clock: clock,
		converter: applyconfigurations.NewTypeConverter(c.Scheme()),
	}
}

// Forget drops what this process remembers about the objects.
func (a *Applier) Forget(objects ...client.Object) {
	for _, object := range objects {
		a.memories.entries.Delete(keyOf(object))
	}
}

// objectKey identifies an object without its UID.
type objectKey struct {
	kind reflect.Type
	name types.NamespacedName
}

func keyOf(object client.Object) objectKey {
	return objectKey{reflect.TypeOf(object), client.ObjectKeyFromObject(object)}
}
