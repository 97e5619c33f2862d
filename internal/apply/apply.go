// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// absent is the resource version of an object that must not exist yet: an apply that carries it creates, and is answered
// with 409 if the object exists.
const absent = "1"

// Options of an Applier.
type Options struct {
	// FieldOwner is the field manager of every write, for ever: another one would leave the fields of the first behind.
	FieldOwner string
	// HashAnnotation is the annotation that holds the hash of what was applied.
	HashAnnotation string
	// Zeros are the fields whose zero values are enforced.
	Zeros []Zero
	// Unions are the fields of which one excludes the others.
	Unions []Union
	// NamedLists are the lists whose items may not have the same name.
	NamedLists []NamedList
}

// Applier writes the objects of owners.
type Applier struct {
	client client.Client
	live   client.Reader
	memory *Memory
	owner  client.FieldOwner
	gate   gate
}

// New returns an Applier that writes with a client and reads past its cache with live.
func New(c client.Client, live client.Reader, memory *Memory, opts Options) *Applier {
	return &Applier{
		client: c,
		live:   live,
		memory: memory,
		owner:  client.FieldOwner(opts.FieldOwner),
		gate: gate{
			scheme:         c.Scheme(),
			converter:      applyconfigurations.NewTypeConverter(c.Scheme()),
			hashAnnotation: opts.HashAnnotation,
			zeros:          opts.Zeros,
			unions:         opts.Unions,
			namedLists:     opts.NamedLists,
		},
	}
}

// Result is what became of the objects of an owner.
type Result struct {
	// Objects are the live objects that belong to the owner and are desired.
	Objects []client.Object
	// Created says that at least one object was created, Written that at least one was created, changed or deleted.
	Created, Written bool
}

// Apply carries out a plan. Every object is tried; the errors are joined. They are those of the plan, a *ConflictError, a
// *WaitingError or those of the API server.
func (a *Applier) Apply(ctx context.Context, plan Plan) (Result, error) {
	var result Result
	var errs []error
	for _, step := range plan.steps {
		live, err := a.take(ctx, plan.owner, step, &result)
		if live != nil {
			result.Objects = append(result.Objects, live)
		}
		errs = append(errs, err)
	}
	for _, object := range plan.undesired {
		errs = append(errs, a.prune(ctx, object, &result))
	}
	return result, errors.Join(errs...)
}

func (a *Applier) take(ctx context.Context, owner client.Object, s step, result *Result) (client.Object, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case s.holds:
		return s.live, nil
	case s.live == nil:
		created, err := a.create(ctx, owner, s.desired, s.rendered)
		result.Created = result.Created || err == nil
		result.Written = result.Written || err == nil
		return created, err
	}
	changed, err := a.change(ctx, s.desired, s.live, s.rendered)
	result.Written = result.Written || err == nil
	return changed, err
}

// change makes a live object hold what was rendered. It returns the live object if it fails.
func (a *Applier) change(
	ctx context.Context, desired, live client.Object, rendered *unstructured.Unstructured,
) (client.Object, error) {
	exchange, drifted, err := a.gate.exchangeOf(live, rendered)
	if err != nil {
		return live, &RenderError{Name: live.GetName(), Err: err}
	}
	rendered.SetUID(live.GetUID())
	if exchange == nil || !drifted {
		changed, err := a.send(ctx, desired, rendered)
		if err == nil {
			return changed, nil
		}
		if exchange == nil || !apierrors.IsInvalid(err) {
			return live, err
		}
	}
	changed, err := a.exchange(ctx, desired, live, exchange)
	if err != nil {
		return live, err
	}
	if holds, err := a.gate.holds(changed, rendered); err == nil && holds {
		return changed, nil
	}
	return a.send(ctx, desired, rendered)
}

// exchange is the only write that is not an apply: it takes away what somebody else has put in the place of ours.
func (a *Applier) exchange(ctx context.Context, desired, live client.Object, patch map[string]any) (client.Object, error) {
	patch["metadata"] = map[string]any{"uid": live.GetUID()}
	text, err := json.Marshal(patch)
	if err != nil {
		return live, &RenderError{Name: live.GetName(), Err: err}
	}
	return a.patch(ctx, desired, client.RawPatch(types.StrategicMergePatchType, text), a.owner)
}

// create applies an object that must not exist. If it does, the cache cannot see it, as it lacks the label that the cache
// selects by, or lags. Then what is there decides. An object of ours is remembered, and the conflict is returned: what is
// desired may depend on the object that was not seen.
func (a *Applier) create(
	ctx context.Context, owner, desired client.Object, rendered *unstructured.Unstructured,
) (client.Object, error) {
	rendered.SetResourceVersion(absent)
	created, err := a.send(ctx, desired, rendered)
	if !apierrors.IsConflict(err) {
		return created, err
	}
	live, newErr := a.empty(desired)
	if newErr != nil {
		return nil, newErr
	}
	if getErr := a.live.Get(ctx, client.ObjectKeyFromObject(desired), live); getErr != nil {
		return nil, errors.Join(err, getErr)
	}
	if err := a.ownership(owner, desired, live); err != nil {
		return nil, err
	}
	a.memory.Written(live)
	return nil, err
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
	a.memory.Written(answer)
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
func (a *Applier) prune(ctx context.Context, object client.Object, result *Result) error {
	uid := object.GetUID()
	err := a.client.Delete(ctx, object, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	a.memory.Deleted(object)
	result.Written = true
	return nil
}
