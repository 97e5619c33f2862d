// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/operator"
)

// The subject of the story.
const (
	sampleName    = "memcached-sample"
	sampleCommand = "memc/" + sampleName
	created, more = 3, 5
	newImage      = "docker.io/library/memcached:1.6.45-alpine"
)

// chapter is a part of the story: something happens, and its effect comes true.
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
	// The sample names no namespace: kubectl adds that of the context.
	sample := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	if err := operator.Create(ctx, d.k8s, sampleFile, sample); err != nil {
		return err
	}
	d.out.command("kubectl apply -f " + sampleFile)
	d.out.block("memcached.cache.example.com/" + sampleName + " created")
	return inOrder(ctx, d.untilReady(created), d.outcome("Ready with %d nodes.", created),
		d.showMemcached, d.showNodes, d.showChildren, d.writeKeys)
}

func scaleMemcached(ctx context.Context, d *demo) error {
	d.out.command(fmt.Sprintf("kubectl scale %s --replicas %d", sampleCommand, more))
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: more}}
	if err := d.k8s.SubResource("scale").Update(ctx, d.mc, client.WithSubResourceBody(scale)); err != nil {
		return fmt.Errorf("scaling: %w", err)
	}
	return inOrder(ctx, d.untilReady(more), d.outcome("Ready with %d nodes.", more),
		d.showMemcached, d.showNodes,
		// Three fifths are expected, since the new nodes take two fifths; the ring is not perfectly even.
		d.readKeys("The new nodes took over the others.", keys/2), d.writeKeys)
}

func deletePod(ctx context.Context, d *demo) error {
	victim := d.mc.Status.Nodes[0]
	d.out.command("kubectl delete pod " + victim)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: victim}}
	if err := d.k8s.Delete(ctx, pod); err != nil {
		return fmt.Errorf("deleting pod %s: %w", victim, err)
	}
	gone := func(context.Context) (string, error) { return without(d.mc, victim), nil }
	return inOrder(ctx, d.untilReady(more, gone),
		d.outcome("Ready again with %d nodes. status.nodes no longer has %s.", more, victim), d.showNodes,
		// A fifth is lost with the pod, and its successor's name takes a fifth of the ring from the others.
		d.readKeys("The pod's share is lost, and its successor takes keys over from the others.", keys/2))
}

func changeImage(ctx context.Context, d *demo) error {
	patch := fmt.Sprintf(`{"spec":{"image":%q}}`, newImage)
	d.out.command(fmt.Sprintf("kubectl patch %s --type merge -p '%s'", sampleCommand, patch))
	if err := d.k8s.Patch(ctx, d.mc, client.RawPatch(client.Merge.Type(), []byte(patch))); err != nil {
		return fmt.Errorf("changing the image: %w", err)
	}
	rolled := func(ctx context.Context) (string, error) {
		pods, err := d.pods(ctx)
		return running(pods, newImage), err
	}
	return inOrder(ctx, d.untilReady(more, rolled), d.outcome("Ready again, and every pod runs the new image."),
		d.shows("kubectl get memc -o wide", resource{path: memcachedsPath, wide: true}), d.showPodImages,
		d.readKeys("Every pod is a new one: a rolling change empties the cache, node by node.", 0))
}

func deleteService(ctx context.Context, d *demo) error {
	before, after := &corev1.Service{}, &corev1.Service{}
	if err := d.k8s.Get(ctx, sampleKey, before); err != nil {
		return fmt.Errorf("reading the Service: %w", err)
	}
	d.out.command("kubectl delete service " + sampleName)
	if err := d.k8s.Delete(ctx, before); err != nil {
		return fmt.Errorf("deleting the Service: %w", err)
	}
	back := func(ctx context.Context) (string, error) {
		after = &corev1.Service{}
		err := d.k8s.Get(ctx, sampleKey, after)
		if apierrors.IsNotFound(err) || err == nil && after.UID == before.UID {
			return "there is no new Service", nil
		}
		return "", err
	}
	if err := d.untilReady(more, back)(ctx); err != nil {
		return err
	}
	d.out.outcome("The Service is back: its UID was %s and is %s.", before.UID, after.UID)
	return d.showOwned(ctx, "service", servicesPath)
}

func deleteMemcached(ctx context.Context, d *demo) error {
	d.out.command("kubectl delete " + sampleCommand)
	if err := d.k8s.Delete(ctx, d.mc); err != nil {
		return fmt.Errorf("deleting %s: %w", sampleName, err)
	}
	return inOrder(ctx, func(ctx context.Context) error { return d.until(ctx, d.leftovers) },
		d.outcome("Deployment, ReplicaSets, Service, PodDisruptionBudget and pods are gone."), d.showChildren)
}
