// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type child struct {
	resource string
	name     types.NamespacedName
}

// creation is the creation of a child by the operator.
type creation struct {
	child
	// at is the time from the creation of the first Memcached until the API server received the request.
	at time.Duration
}

// creationsIn returns when a user created each child of n Memcacheds, in order of time. It fails if the requests contain more or fewer
// creations. began is when the first Memcached was created.
func creationsIn(requests []request, user string, began time.Time, n int) ([]creation, error) {
	var creations []creation
	for _, r := range requests {
		if r.user == user && r.columnOf() == accepted && r.code == http.StatusCreated {
			creations = append(creations, creation{child{r.resource, r.object}, r.received.Sub(began)})
		}
	}
	if len(creations) != n*len(childKinds) {
		return nil, fmt.Errorf("the audit log has %d creations by %s, but %d Memcacheds have %d children each",
			len(creations), user, n, len(childKinds))
	}
	slices.SortStableFunc(creations, func(a, b creation) int { return cmp.Compare(a.at, b.at) })
	return creations, nil
}

func (t *testbed) createAtOnce(ctx context.Context, sets [][]client.Object) error {
	return inParallel(len(sets), func(i int) error {
		var failures []error
		for _, object := range sets[i] {
			failures = append(failures, t.k8s.Create(ctx, object))
		}
		return errors.Join(failures...)
	})
}

// replay creates each child at the time at which the operator created the same child.
func (t *testbed) replay(ctx context.Context, sets [][]client.Object, creations []creation) error {
	objects := map[child]client.Object{}
	for _, object := range slices.Concat(sets...) {
		kind, err := t.k8s.GroupVersionKindFor(object)
		if err != nil {
			return err
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		objects[child{plural.Resource, client.ObjectKeyFromObject(object)}] = object
	}
	var times []time.Duration
	for _, c := range creations {
		if objects[c.child] == nil {
			return fmt.Errorf("the operator created %v, which is no child of a Memcached", c.child)
		}
		times = append(times, c.at)
	}
	return onSchedule(ctx, times, func(i int) error { return t.k8s.Create(ctx, objects[creations[i].child]) })
}

// bareChildren creates the bare children of n Memcacheds with the function create, and measures how long they take to become available.
// Bare children are the objects that the operator would create for these Memcacheds.
func (b *bench) bareChildren(
	ctx context.Context, t *testbed, n int, create func(context.Context, [][]client.Object) error,
) (took time.Duration) {
	t.createNamespaces(ctx, n, true)
	available := t.countObjects(ctx, &appsv1.DeploymentList{}, isAvailable)
	defer available.stop()
	v := t.trackVersions(ctx) // so that there are as many watches as in the measurement of the operator
	defer v.stop()
	children := must(childrenOf(n))
	began := time.Now()
	check(create(ctx, children))
	created := time.Since(began)
	during("waiting for Deployments to be available", func() { took = available.waitFor(ctx, n).Sub(began) })
	b.logf("%d bare sets of children, created in %.1f s, are available after %.1f s", n, created.Seconds(), took.Seconds())
	return took
}

func isAvailable(object client.Object) bool {
	deployment, ok := object.(*appsv1.Deployment)
	return ok && deployment.Status.AvailableReplicas == size
}
