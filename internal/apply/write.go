// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// merge sends a strategic merge patch.
func (a *Applier) merge(ctx context.Context, s step, body rendering) (client.Object, error) {
	return a.patch(ctx, s, body, types.StrategicMergePatchType)
}

// send sends the step's rendering as a server-side apply.
func (a *Applier) send(ctx context.Context, s step) (client.Object, error) {
	return a.patch(ctx, s, s.rendered, types.ApplyPatchType, client.ForceOwnership)
}

// patch sends a patch, and records the API server's answer in the MutationCache.
func (a *Applier) patch(
	ctx context.Context, s step, body rendering, kind types.PatchType, opts ...client.PatchOption,
) (client.Object, error) {
	text, err := json.Marshal(body.Object)
	if err != nil {
		return nil, &RenderError{Name: s.desired.GetName(), Err: err}
	}
	answer, err := a.empty(s.desired)
	if err != nil {
		return nil, err
	}
	// Field validation is off: an apply refuses unknown fields anyway, and the API server would parse the body twice to warn of
	// duplicate ones.
	opts = append(opts, a.owner, client.FieldValidation(metav1.FieldValidationIgnore))
	if err := a.client.Patch(ctx, answer, client.RawPatch(kind, text), opts...); err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", s.rendered.GetKind(), s.desired.GetName(), err)
	}
	a.mutations.RecordWrite(answer)
	return answer, nil
}

// empty returns an object with only the type, name and namespace of the desired one. Decoding an answer into the desired object would
// merge the two.
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

// prune deletes an object that is no longer desired. The UID keeps the request from deleting a later object of the same name.
func (a *Applier) prune(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	err := a.client.Delete(ctx, object, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	a.mutations.RecordDelete(object)
	return nil
}
