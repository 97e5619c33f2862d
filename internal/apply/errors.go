// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConflictError says that an object of the desired name exists and does not belong to the owner. It was not touched.
type ConflictError struct {
	// Kind and Name of the object.
	Kind, Name string
	// Controller is the kind and name of what controls it, empty if nothing does.
	Controller string
}

// Error implements error.
func (e *ConflictError) Error() string {
	owner := "belongs to nobody"
	if e.Controller != "" {
		owner = "belongs to " + e.Controller
	}
	return fmt.Sprintf("%s %s exists already and %s: delete or rename one of the two", e.Kind, e.Name, owner)
}

// WaitingError says that an object must be gone before the desired one can take its name.
type WaitingError struct {
	// Kind and Name of the object.
	Kind, Name string
}

// Error implements error.
func (e *WaitingError) Error() string {
	return fmt.Sprintf("%s %s is being deleted and must be gone first", e.Kind, e.Name)
}

// ownership says whether the owner may write a live object: nil, a *ConflictError or a *WaitingError.
func ownership(owner client.Object, kind, ownerKind string, live client.Object) error {
	controller := metav1.GetControllerOfNoCopy(live)
	switch {
	case controller != nil && controller.UID == owner.GetUID():
		if live.GetDeletionTimestamp() != nil {
			return &WaitingError{Kind: kind, Name: live.GetName()}
		}
		return nil
	case controller != nil && controller.Kind == ownerKind && controller.Name == owner.GetName():
		// It belonged to an earlier owner of the same name; the garbage collector deletes it.
		return &WaitingError{Kind: kind, Name: live.GetName()}
	case controller != nil:
		return &ConflictError{Kind: kind, Name: live.GetName(), Controller: controller.Kind + " " + controller.Name}
	case live.GetDeletionTimestamp() != nil:
		return &WaitingError{Kind: kind, Name: live.GetName()}
	default:
		return &ConflictError{Kind: kind, Name: live.GetName()}
	}
}
