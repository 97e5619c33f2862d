// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ObstacleError says why an object is not as desired, or does not stay so. A retry alone does not help.
type ObstacleError struct {
	Why Why
	// Kind, Namespace and Name identify the object.
	Kind, Namespace, Name string
	// Field is the path of a field that was corrected last, or cannot be changed, such as spec.replicas.
	Field string
	// By is the kind and name of the controller of a Conflict, or the field manager that makes an object Contested. It is empty if there is
	// none, or if it is unknown.
	By string
	// RetryAfter is the time until the next correction of a Contested object may be made. If there is nothing to correct, it is the time
	// until the object no longer counts as contested.
	RetryAfter time.Duration
}

// Why is the kind of an ObstacleError.
type Why int

const (
	// Conflict means that another owner's object has the desired name. That object was not changed.
	Conflict Why = iota
	// Contested means that somebody else keeps writing an object of the operator.
	Contested
	// Immutable means that an immutable field differs from the desired object. The other fields can still be written.
	Immutable
	// Waiting means that an object must disappear before the desired one can have its name.
	Waiting
)

// Error implements error.
func (o *ObstacleError) Error() string {
	object := o.Kind + " " + o.Name
	switch o.Why {
	case Conflict:
		return fmt.Sprintf("%s exists already and belongs to %s: delete or rename one of the two", object, cmp.Or(o.By, "nobody"))
	case Contested:
		return fmt.Sprintf("%s of %s is changed again and again by %s", o.Field, object, cmp.Or(o.By, "somebody else"))
	case Immutable:
		return fmt.Sprintf("%s of %s has another value than it must have, and cannot be changed", o.Field, object)
	default:
		return object + " is being deleted and must be gone first"
	}
}

// checkOwnership returns nil if the owner may write a live object, else an ObstacleError: Conflict or Waiting.
func (a *Applier) checkOwnership(owner, desired, live client.Object) error {
	obstacle := &ObstacleError{Why: Conflict, Kind: desired.GetObjectKind().GroupVersionKind().Kind, Name: live.GetName()}
	controller, terminating := metav1.GetControllerOfNoCopy(live), live.GetDeletionTimestamp() != nil
	switch {
	case terminating && (controller == nil || controller.UID == owner.GetUID()), controller != nil && a.predecessor(owner, controller):
		obstacle.Why = Waiting
	case controller != nil && controller.UID == owner.GetUID(), a.orphaned(owner, live):
		return nil
	case controller != nil:
		obstacle.By = controller.Kind + " " + controller.Name
	}
	return obstacle
}

// orphaned reports whether an object was written for an owner of this name, but lost its controller by --cascade=orphan or an edit.
func (a *Applier) orphaned(owner, live client.Object) bool {
	return metav1.GetControllerOfNoCopy(live) == nil && live.GetAnnotations()[a.HashAnnotation] != "" &&
		labels.SelectorFromSet(a.Identity(owner, live)).Matches(labels.Set(live.GetLabels()))
}

// predecessor reports whether the controller is an earlier owner with the kind, API group and name of this one. It no longer exists, and
// the garbage collector will delete the live object.
func (a *Applier) predecessor(owner client.Object, controller *metav1.OwnerReference) bool {
	kind, err := apiutil.GVKForObject(owner, a.Client.Scheme())
	return err == nil && controller.Name == owner.GetName() && controller.UID != owner.GetUID() &&
		schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind() == kind.GroupKind()
}

const (
	// fightCorrections is how many corrections of an object within fightWindow show that somebody fights for it. From then on,
	// fightInterval is the shortest time between two corrections, until there was none for fightWindow.
	fightCorrections = 3
	fightWindow      = 2 * time.Minute
	fightInterval    = 30 * time.Second
)

// memory is what this process remembers about an object that it has written. Its uid is empty if the object turned out to exist when the
// operator tried to create it.
type memory struct {
	uid types.UID
	// hash is the hash of the last rendering that was written.
	hash string
	// left is the fingerprint of what still differed after that write, because a webhook changed the object, or the API server rounded a
	// value. The same write would leave it again.
	left string
	// corrections are the times of the corrections that began less than fightWindow before the last one, which is last.
	corrections []time.Time
	last        Correction
}

// known returns what is remembered about an object. It returns nothing about an earlier object of the same name.
func (a *Applier) known(object client.Object) memory {
	found, _ := a.memories.Load(keyOf(object))
	if known, ok := found.(memory); ok && known.uid == object.GetUID() {
		return known
	}
	return memory{uid: object.GetUID()}
}

// fight adds an obstacle to a step if somebody fights for the object. If it is too early for a correction, the obstacle is an error.
func (a *Applier) fight(s *step, known memory) {
	if !known.last.Contested {
		return
	}
	since := a.Clock.Since(known.corrections[len(known.corrections)-1])
	if since >= fightWindow {
		return
	}
	fight := &ObstacleError{
		Why: Contested, Kind: known.last.Kind, Namespace: s.live.GetNamespace(), Name: known.last.Name,
		Field: known.last.Fields[len(known.last.Fields)-1], By: strings.Join(known.last.Managers, " and "), RetryAfter: fightWindow - since,
	}
	if s.drifted && s.fingerprint != "" && since < fightInterval {
		fight.RetryAfter = fightInterval - since
		s.err = fight
	} else {
		s.obstacle = errors.Join(s.obstacle, fight)
	}
}

// corrects returns the memory after a correction.
func (m memory) corrects(correction Correction, now time.Time) memory {
	old := func(at time.Time) bool { return now.Sub(at) >= fightWindow }
	m.corrections, m.last = append(slices.DeleteFunc(slices.Clone(m.corrections), old), now), correction
	m.last.Contested = len(m.corrections) >= fightCorrections
	return m
}

// Correction describes the changes by others that a write to one object has undone.
type Correction struct {
	// Kind and Name identify the object.
	Kind, Name string
	// Fields are the paths of the corrected fields, such as spec.replicas, sorted.
	Fields []string
	// Managers are the field managers that wrote these fields before the correction. A removed field has none.
	Managers []string
	// Contested reports that somebody fights for the object: the next plans have an ObstacleError about it.
	Contested bool
}

// correctionOf describes what a step undoes. The live object is the one before the write, because the write makes the operator the manager
// of the corrected fields.
func correctionOf(s step) Correction {
	correction := Correction{Kind: s.rendered.GetKind(), Name: s.rendered.GetName(), Fields: s.fields}
	managed := managedFields(s.live)
	for _, manager := range slices.Sorted(maps.Keys(managed)) {
		if others := managed[manager].RecursiveDifference(s.paths); !others.Equals(managed[manager]) {
			correction.Managers = append(correction.Managers, manager)
		}
	}
	return correction
}

// managedFields returns the fields of each field manager. The cache holds none.
func managedFields(live client.Object) map[string]*fieldpath.Set {
	managed := map[string]*fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		fields := &fieldpath.Set{}
		if entry.FieldsV1 != nil && fields.FromJSON(entry.FieldsV1.GetRawReader()) == nil {
			managed[entry.Manager] = cmp.Or(managed[entry.Manager], &fieldpath.Set{}).Union(fields)
		}
	}
	return managed
}
