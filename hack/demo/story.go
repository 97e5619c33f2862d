// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The Memcached of the story.
const (
	sampleName    = "memcached-sample"
	sampleCommand = "memc/" + sampleName
	// created is the number of nodes at first. more is the number of nodes after the scaling.
	created, more = 3, 5
	newImage      = "docker.io/library/memcached:1.6.45-alpine"
)

// chapter is a part of the story: an action and its effect.
type chapter struct {
	title string
	tell  func(ctx context.Context, d *demo) error
}

func story(s stage) []chapter {
	return append(s.opening(), []chapter{
		{"A Memcached with 3 nodes is created", createMemcached},
		{"It is scaled from 3 to 5", scaleMemcached},
		{"A pod is deleted and replaced", deletePod},
		{"The image is changed and rolls", changeImage},
		{"The Service is deleted and comes back", deleteService},
		{"The Memcached is deleted, and everything that it owned goes", deleteMemcached},
	}...)
}

func createMemcached(ctx context.Context, d *demo) error {
	return inOrder(ctx, d.runs("kubectl apply -f "+sampleFile),
		d.untilReady(created), d.outcome("Ready with %d nodes.", created),
		d.runs(getMemcacheds), d.runs(getNodes), d.runs(getChildren), d.writeKeys)
}

func scaleMemcached(ctx context.Context, d *demo) error {
	return inOrder(ctx, d.runs(fmt.Sprintf("kubectl scale %s --replicas %d", sampleCommand, more)),
		d.untilReady(more), d.outcome("Ready with %d nodes.", more), d.runs(getMemcacheds), d.runs(getNodes),
		// The two new nodes take over about two fifths of the keys. The ring is not perfectly even, so only half must be found.
		d.readKeys("The new nodes took over the others.", keys/2), d.writeKeys)
}

func deletePod(ctx context.Context, d *demo) error {
	victim := d.mc.Status.Nodes[0]
	gone := func(context.Context) (string, error) { return without(d.mc, victim), nil }
	return inOrder(ctx, d.runs("kubectl delete pod "+victim), d.untilReady(more, gone),
		d.outcome("Ready again with %d nodes. status.nodes no longer has %s.", more, victim), d.runs(getNodes),
		// A fifth of the keys is lost with the pod. The replacement has a new name, so it takes over another fifth from the other nodes.
		d.readKeys("The pod's share is lost, and its successor takes keys over from the others.", keys/2))
}

func changeImage(ctx context.Context, d *demo) error {
	rolled := func(ctx context.Context) (string, error) {
		pods, err := d.pods(ctx)
		return running(pods, newImage), err
	}
	return inOrder(ctx, d.runs(fmt.Sprintf(`kubectl patch %s --type merge -p '{"spec":{"image":%q}}'`, sampleCommand, newImage)),
		d.untilReady(more, rolled), d.outcome("Ready again, and every pod runs the new image."),
		d.runs(getMemcacheds+" -o wide"), d.runs(getImages),
		d.readKeys("Every pod is a new one: a rolling change empties the cache, node by node.", 0))
}

func deleteService(ctx context.Context, d *demo) error {
	before, after := &corev1.Service{}, &corev1.Service{}
	if err := d.k8s.Get(ctx, sampleKey, before); err != nil {
		return fmt.Errorf("reading the Service: %w", err)
	}
	back := func(ctx context.Context) (string, error) {
		after = &corev1.Service{}
		err := d.k8s.Get(ctx, sampleKey, after)
		if apierrors.IsNotFound(err) || err == nil && after.UID == before.UID {
			return "there is no new Service", nil
		}
		return "", err
	}
	if err := inOrder(ctx, d.runs("kubectl delete service "+sampleName), d.untilReady(more, back)); err != nil {
		return err
	}
	d.out.outcome("The Service is back: its UID was %s and is %s.", before.UID, after.UID)
	return d.run(ctx, getService)
}

func deleteMemcached(ctx context.Context, d *demo) error {
	return inOrder(ctx, d.runs("kubectl delete "+sampleCommand),
		func(ctx context.Context) error { return d.until(ctx, d.leftovers) },
		d.outcome("Deployment, ReplicaSets, Service, PodDisruptionBudget and pods are gone."), d.runs(getChildren))
}
