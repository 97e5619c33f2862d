// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply/field"
)

// Options of an Applier.
type Options struct {
	// FieldOwner is the field manager of every write. It must never change: fields of the old manager would stay forever.
	FieldOwner string
	// HashAnnotation is the key of the annotation with the hash of the last applied object.
	HashAnnotation string
	// Identity returns the labels that every object of an owner has.
	Identity func(owner client.Object) map[string]string
	// Rules maps each Kind to the rules for its fields.
	Rules map[schema.GroupVersionKind]field.Rules
}

// Applier writes the objects of owners.
type Applier struct {
	client    client.Client
	live      client.Reader
	mutations *MutationCache
	owner     client.FieldOwner
	differ    differ
	identity  func(owner client.Object) map[string]string

	conflicts conflicts
	contests  contests
	answers   answers
}

// New returns an Applier that writes with the client c. It reads with the reader live, which must not use the cache.
func New(c client.Client, live client.Reader, mutations *MutationCache, clock clock.PassiveClock, opts Options) *Applier {
	differ := differ{
		scheme:         c.Scheme(),
		converter:      applyconfigurations.NewTypeConverter(c.Scheme()),
		hashAnnotation: opts.HashAnnotation,
		rules:          opts.Rules,
	}
	return &Applier{
		client:    c,
		live:      live,
		mutations: mutations,
		owner:     client.FieldOwner(opts.FieldOwner),
		identity:  opts.Identity,
		differ:    differ,
		conflicts: conflicts{clock: clock},
		contests:  contests{clock: clock},
		answers:   answers{differ: differ},
	}
}

// Forget drops what this process remembers about the objects.
func (a *Applier) Forget(objects ...client.Object) {
	for _, object := range objects {
		a.mutations.Forget(object)
		a.conflicts.forget(object)
		a.contests.forget(object)
		a.answers.forget(object)
	}
}
