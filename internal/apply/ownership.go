// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// checkOwnership returns nil if the owner may write a live object, else a *ConflictError or a *WaitingError.
func (a *Applier) checkOwnership(owner, desired, live client.Object) error {
	kind := desired.GetObjectKind().GroupVersionKind().Kind
	controller := metav1.GetControllerOfNoCopy(live)
	switch {
	case controller != nil && controller.UID == owner.GetUID():
		if live.GetDeletionTimestamp() != nil {
			return &WaitingError{Kind: kind, Name: live.GetName()}
		}
		return nil
	case controller != nil && a.predecessor(owner, controller):
		return &WaitingError{Kind: kind, Name: live.GetName()}
	case controller != nil:
		return &ConflictError{Kind: kind, Name: live.GetName(), Controller: controller.Kind + " " + controller.Name}
	case live.GetDeletionTimestamp() != nil:
		return &WaitingError{Kind: kind, Name: live.GetName()}
	case a.orphaned(owner, live):
		return nil
	default:
		return &ConflictError{Kind: kind, Name: live.GetName()}
	}
}

// orphaned reports whether an object was applied for an owner of this name but has no controller any more, because of a
// deletion with --cascade=orphan or an edit.
func (a *Applier) orphaned(owner, live client.Object) bool {
	if metav1.GetControllerOfNoCopy(live) != nil || live.GetAnnotations()[a.differ.hashAnnotation] == "" {
		return false
	}
	labels := live.GetLabels()
	for key, value := range a.identity(owner) {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// predecessor reports whether the controller, whose UID is not the owner's, has the owner's kind, API group and name. If so, the
// controller no longer exists, and the garbage collector will delete the live object.
func (a *Applier) predecessor(owner client.Object, controller *metav1.OwnerReference) bool {
	kind, err := apiutil.GVKForObject(owner, a.client.Scheme())
	if err != nil {
		return false
	}
	return controller.Name == owner.GetName() &&
		schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind() == kind.GroupKind()
}
