// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
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

// Apply makes the objects of an owner be as desired. Observed are the live objects that may belong to it; those that do
// and are not desired are deleted. Every object is tried; the errors are joined. They are *ConflictError, *WaitingError
// or those of the API server. Desired objects have their apiVersion and kind, and those fields set that Go writes even if
// they are empty and that the API server fills: a Deployment's strategy, the targetPort of a Service.
func (a *Applier) Apply(ctx context.Context, owner client.Object, desired, observed []client.Object) (Result, error) {
	var result Result
	var errs []error
	for _, object := range desired {
		live, err := a.applyOne(ctx, owner, object, find(observed, object), &result)
		if live != nil {
			result.Objects = append(result.Objects, live)
		}
		errs = append(errs, err)
	}
	for _, object := range undesired(owner, desired, observed) {
		errs = append(errs, a.prune(ctx, object, &result))
	}
	return result, errors.Join(errs...)
}

// Pending says whether Apply would write. Objects that belong to somebody else are not counted.
func (a *Applier) Pending(owner client.Object, desired, observed []client.Object) (bool, error) {
	for _, object := range desired {
		live := find(observed, object)
		if live == nil {
			return true, nil
		}
		if a.ownership(owner, object, live) != nil {
			continue
		}
		rendered, err := a.gate.render(owner, object)
		if err != nil {
			return false, err
		}
		if holds, err := a.gate.holds(live, rendered); err != nil || !holds {
			return true, err
		}
	}
	return len(undesired(owner, desired, observed)) > 0, nil
}

func (a *Applier) applyOne(
	ctx context.Context, owner, desired, live client.Object, result *Result,
) (client.Object, error) {
	rendered, err := a.gate.render(owner, desired)
	if err != nil {
		return nil, err
	}
	if live == nil {
		created, err := a.create(ctx, owner, desired, rendered)
		result.Created = result.Created || err == nil
		result.Written = result.Written || err == nil
		return created, err
	}
	if err := a.ownership(owner, desired, live); err != nil {
		return nil, err
	}
	holds, err := a.gate.holds(live, rendered)
	if err != nil || holds {
		return live, err
	}
	changed, err := a.patch(ctx, desired, rendered, live.GetUID())
	if err != nil {
		return live, err
	}
	result.Written = true
	return changed, nil
}

// create applies an object that must not exist. If it does, the cache cannot see it: it lacks the label that the cache
// selects by. Then what is there decides: an object of ours gets its label back, anything else is a conflict.
func (a *Applier) create(
	ctx context.Context, owner, desired client.Object, rendered *unstructured.Unstructured,
) (client.Object, error) {
	body := rendered.DeepCopy()
	body.SetResourceVersion(absent)
	created, err := a.send(ctx, desired, body)
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
	return a.patch(ctx, desired, rendered, live.GetUID())
}

func (a *Applier) patch(
	ctx context.Context, desired client.Object, rendered *unstructured.Unstructured, uid types.UID,
) (client.Object, error) {
	body := rendered.DeepCopy()
	body.SetUID(uid)
	return a.send(ctx, desired, body)
}

func (a *Applier) send(ctx context.Context, desired client.Object, body *unstructured.Unstructured) (client.Object, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", desired.GetName(), err)
	}
	answer, err := a.empty(desired)
	if err != nil {
		return nil, err
	}
	patch := client.RawPatch(types.ApplyPatchType, text)
	if err := a.client.Patch(ctx, answer, patch, client.ForceOwnership, a.owner); err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", body.GetKind(), body.GetName(), err)
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

func (a *Applier) ownership(owner, desired, live client.Object) error {
	kind := desired.GetObjectKind().GroupVersionKind().Kind
	ownerKind, err := apiutil.GVKForObject(owner, a.client.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of the owner: %w", err)
	}
	return ownership(owner, kind, ownerKind.Kind, live)
}
