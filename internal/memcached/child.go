// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/internal/apply/field"
)

// Child is a kind of object that the operator keeps for each owner, a Memcached or a MemcachedProxy. Caches, watches, observation and
// writes know nothing about it beyond its row in Children.
type Child[Owner client.Object] struct {
	// Kind with its group and version.
	Kind schema.GroupVersionKind
	// Suffix follows the owner's name in the name of the object; empty if the names are equal. If there are several rows of one Kind, each
	// has a suffix, and none ends with another's: otherwise objects of two owners could have the same name.
	Suffix string
	// New returns an empty object.
	New func() client.Object
	// Spec returns the part of an object that the operator sets. A foreign change of it is handled without delay.
	Spec func(client.Object) any
	// Workload reports that objects of this Kind run the nodes or proxies, so that their status counts.
	Workload bool
	// Fields are the rules for its fields.
	Fields field.Rules
	// Expected reports whether to ask the API server for an object that the cache does not hold: it may have lost the label that
	// the cache selects by.
	Expected func(Owner) bool
}

// NewChild completes a row with what depends on the Go type of the objects.
func NewChild[Owner client.Object, T any, P interface {
	*T
	client.Object
}](row Child[Owner], spec func(P) any) Child[Owner] {
	row.New = func() client.Object { return P(new(T)) }
	row.Spec = func(object client.Object) any {
		return spec(object.(P)) //nolint:forcetypeassert // the row is that of the type
	}
	return row
}

// Named returns the object of this Kind that an owner may have, empty but for its name.
func (c Child[Owner]) Named(owner types.NamespacedName) client.Object {
	object := c.New()
	object.SetNamespace(owner.Namespace)
	object.SetName(owner.Name + c.Suffix)
	return object
}

// OwnerOf returns the owner to which an object of this Kind and name may belong; an empty name if none fits.
func (c Child[Owner]) OwnerOf(object types.NamespacedName) types.NamespacedName {
	name, found := strings.CutSuffix(object.Name, c.Suffix)
	if !found {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.Namespace, Name: name}
}

// ConfigMapFields are the rules for a ConfigMap, of which the operator determines all that ConfigMapData returns.
var ConfigMapFields = field.Rules{Owned: [][]string{{"data"}, {"binaryData"}}}

// ConfigMapData is the part of a ConfigMap that the operator determines.
func ConfigMapData(c *corev1.ConfigMap) any { return []any{c.Data, c.BinaryData} }

// DeploymentFields are the rules for a Deployment.
var DeploymentFields = field.Rules{
	Owned:     [][]string{podSpecPath, {"spec", "paused"}, {"spec", "minReadySeconds"}},
	Size:      []string{"spec", "replicas"},
	Immutable: [][]string{{"spec", "selector"}},
	Guarded:   true,
}

// FieldRules are the rules for the fields of each Kind.
func FieldRules[Owner client.Object](children []Child[Owner]) map[schema.GroupVersionKind]field.Rules {
	rules := map[schema.GroupVersionKind]field.Rules{}
	for _, child := range children {
		rules[child.Kind] = child.Fields
	}
	return rules
}
