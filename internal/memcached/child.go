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

// Child describes one Kind of object that the operator keeps for each owner, a Memcached or a MemcachedProxy. Caches, watches and
// writes work in the same way for all Kinds. They read the differences from a table with one Child in each row.
type Child[Owner client.Object] struct {
	// GroupVersionKind of the objects.
	Kind schema.GroupVersionKind
	// Suffix follows the owner's name in the object's name. If several rows of the table have the same Kind, no suffix may be empty
	// or end with another one: objects of two owners could have the same name.
	Suffix string
	// New returns an empty object.
	New func() client.Object
	// Spec returns the part of an object that the operator sets. If somebody else changes it, the operator reacts at once.
	Spec func(client.Object) any
	// Workload reports that objects of this Kind run the nodes or proxies. Changes of their status wake the operator.
	Workload bool
	// Fields are the rules for the fields of the objects.
	Fields field.Rules
	// Expected reports whether to ask the API server for an object that is missing from the cache. The object may still exist
	// without the label by which the cache selects.
	Expected func(Owner) bool
}

// NewChild completes a row with the parts that depend on the Go type.
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

// Named returns an object of this Kind with only the name that it has for an owner.
func (c Child[Owner]) Named(owner types.NamespacedName) client.Object {
	object := c.New()
	object.SetNamespace(owner.Namespace)
	object.SetName(owner.Name + c.Suffix)
	return object
}

// OwnerOf returns the owner whose child would have this name. It returns an empty name if no owner fits.
func (c Child[Owner]) OwnerOf(object types.NamespacedName) types.NamespacedName {
	name, found := strings.CutSuffix(object.Name, c.Suffix)
	if !found {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.Namespace, Name: name}
}

// ConfigMapFields are the rules for a ConfigMap. The operator owns its data as a whole.
var ConfigMapFields = field.Rules{Owned: [][]string{{"data"}, {"binaryData"}}}

// ConfigMapData returns the part of a ConfigMap that the operator sets.
func ConfigMapData(c *corev1.ConfigMap) any { return []any{c.Data, c.BinaryData} }

// DeploymentFields are the rules for a Deployment.
var DeploymentFields = field.Rules{
	Owned:     [][]string{podSpecPath, {"spec", "paused"}, {"spec", "minReadySeconds"}},
	Size:      []string{"spec", "replicas"},
	Immutable: [][]string{{"spec", "selector"}},
	Guarded:   true,
}

// FieldRules returns the rules for the fields of each Kind.
func FieldRules[Owner client.Object](children []Child[Owner]) map[schema.GroupVersionKind]field.Rules {
	rules := map[schema.GroupVersionKind]field.Rules{}
	for _, child := range children {
		rules[child.Kind] = child.Fields
	}
	return rules
}
