// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (a *Applier) merge(ctx context.Context, desired client.Object, patch map[string]any) (client.Object, error) {
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, &RenderError{Name: desired.GetName(), Err: err}
	}
	return a.patch(ctx, desired, client.RawPatch(types.StrategicMergePatchType, text), a.owner)
}

func (a *Applier) send(ctx context.Context, desired client.Object, body *unstructured.Unstructured) (client.Object, error) {
	text, err := json.Marshal(body.Object)
	if err != nil {
		return nil, &RenderError{Name: desired.GetName(), Err: err}
	}
	return a.patch(ctx, desired, client.RawPatch(types.ApplyPatchType, text), client.ForceOwnership, a.owner)
}

func (a *Applier) patch(
	ctx context.Context, desired client.Object, patch client.Patch, opts ...client.PatchOption,
) (client.Object, error) {
	answer, err := a.empty(desired)
	if err != nil {
		return nil, err
	}
	// An apply with unknown fields is refused anyway; to warn of duplicate ones, the API server would parse it twice.
	opts = append(opts, client.FieldValidation(metav1.FieldValidationIgnore))
	if err := a.client.Patch(ctx, answer, patch, opts...); err != nil {
		kind := desired.GetObjectKind().GroupVersionKind().Kind
		return nil, fmt.Errorf("apply %s %s: %w", kind, desired.GetName(), err)
	}
	a.mutations.RecordWrite(answer)
	return answer, nil
}

// empty returns an object of the same kind and name. What is read into an object that holds something is merged with it.
func (a *Applier) empty(desired client.Object) (client.Object, error) {
	created, err := a.client.Scheme().New(desired.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("create an empty object: %w", err)
	}
	object, ok := created.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", created)
	}
	object.SetName(desired.GetName())
	object.SetNamespace(desired.GetNamespace())
	return object, nil
}

// prune deletes an object of ours that is no longer desired: exactly that one, by its UID.
func (a *Applier) prune(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	err := a.client.Delete(ctx, object, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	a.mutations.RecordDelete(object)
	return nil
}
