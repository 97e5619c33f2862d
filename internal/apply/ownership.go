// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// checkOwnership returns nil if the owner may write a live object, else an ObstacleError: Conflict or Waiting.
func (a *Applier) checkOwnership(owner, desired, live client.Object) error {
	obstacle := &ObstacleError{Why: Conflict, Kind: desired.GetObjectKind().GroupVersionKind().Kind, Name: live.GetName()}
	controller, terminating := metav1.GetControllerOfNoCopy(live), live.GetDeletionTimestamp() != nil
	switch {
	case controller != nil && controller.UID == owner.GetUID():
		if !terminating {
			return nil
		}
		obstacle.Why = Waiting
	case controller != nil && a.predecessor(owner, controller), controller == nil && terminating:
		obstacle.Why = Waiting
	case controller != nil:
		obstacle.By = controller.Kind + " " + controller.Name
	case a.orphaned(owner, live):
		return nil
	}
	return obstacle
}

// orphaned reports whether an object was written for an owner of this name but has no controller any more, because of a
// deletion with --cascade=orphan or an edit.
func (a *Applier) orphaned(owner, live client.Object) bool {
	return metav1.GetControllerOfNoCopy(live) == nil && live.GetAnnotations()[a.HashAnnotation] != "" &&
		labels.SelectorFromSet(a.Identity(owner, live)).Matches(labels.Set(live.GetLabels()))
}

// predecessor reports whether the controller, whose UID is not the owner's, has the owner's kind, API group and name. If so, the
// controller no longer exists, and the garbage collector will delete the live object.
func (a *Applier) predecessor(owner client.Object, controller *metav1.OwnerReference) bool {
	kind, err := apiutil.GVKForObject(owner, a.client.Scheme())
	return err == nil && controller.Name == owner.GetName() &&
		schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind() == kind.GroupKind()
}
