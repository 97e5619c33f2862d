// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// runs changes the image in the pod template, as another writer may do.
func runs(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
}

// next makes one generation that the Deployment controller has not seen.
func next(d *appsv1.Deployment) { d.Generation++ }

// templateRows have a generation of the Deployment that the Deployment controller has not seen.
func templateRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	const updating = replacing + "0 of 3 nodes are updated"
	quiet := func(name string, mc *cachev1alpha1.Memcached, before, deployment *appsv1.Deployment) statusCase {
		return statusCase{name: name, mc: mc, before: before, deployment: deployment, pods: makePods(3)}
	}
	rolling := func(name string, mc *cachev1alpha1.Memcached, before, deployment *appsv1.Deployment) statusCase {
		return statusCase{name: name, mc: mc, before: before, deployment: deployment, pods: makePods(3), changing: updating}
	}
	return []statusCase{
		quiet("a write that leaves the template as it was seen", mc,
			makeDeployment(t, mc, settled), makeDeployment(t, mc, settled, next)),
		quiet("nothing is written, and the template had been seen when the status was", memcachedtest.Cache(3, reportedBefore(3, 3)),
			nil, makeDeployment(t, mc, settled, next)),
		quiet("a second such write", memcachedtest.Cache(3, reportedBefore(3, 3)),
			makeDeployment(t, mc, settled, next), makeDeployment(t, mc, settled, nextButOne)),
		rolling("a write that changes the template", memcachedtest.Cache(3, reportedBefore(3, 3)),
			makeDeployment(t, mc, settled, runs("memcached:1")), makeDeployment(t, mc, settled, next)),
		rolling("a write over a template that nobody has seen", memcachedtest.Cache(3, reportedBefore(3, 0)),
			makeDeployment(t, mc, settled, next), makeDeployment(t, mc, settled, nextButOne)),
		rolling("nothing is written, and the template had not been seen when the status was", memcachedtest.Cache(3, reportedBefore(3, 0)),
			nil, makeDeployment(t, mc, settled, next)),
		rolling("the status is of an earlier spec", memcachedtest.Cache(3, reportedBefore(3, 3), func(mc *cachev1alpha1.Memcached) {
			mc.Status.ObservedGeneration--
		}), nil, makeDeployment(t, mc, settled, next)),
		rolling("another Deployment was observed", memcachedtest.Cache(3), makeDeployment(t, mc, settled, func(d *appsv1.Deployment) {
			d.UID = "another"
		}), makeDeployment(t, mc, settled, next)),
		{
			name:       "such a write in a rollout",
			before:     makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")),
			deployment: makeDeployment(t, mc, specGeneration(3), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")),
			pods:       makePods(3), changing: replacing + "1 of 3 nodes are updated",
		},
	}
}

// TestStatusUpdatedReplicas expects the number of nodes that run the desired template. No node counts until the Deployment
// controller has observed this template.
func TestStatusUpdatedReplicas(t *testing.T) {
	mc, image := memcachedtest.Cache(3), memcachedtest.Cache(3, memcachedtest.Image("memcached:2"))
	five := func(mc *cachev1alpha1.Memcached, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
		return makeDeployment(t, mc, append([]func(*appsv1.Deployment){accepted(5), settled}, changes...)...)
	}
	paused := func(mc *cachev1alpha1.Memcached) *cachev1alpha1.Memcached {
		mc = mc.DeepCopy()
		memcachedtest.Paused(mc)
		return mc
	}
	problem := memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonAdmissionDenied, Message: "no"}}
	for _, test := range []struct {
		name    string
		mc      *cachev1alpha1.Memcached
		before  *appsv1.Deployment
		live    *appsv1.Deployment
		written memcached.Written
		want    int32
	}{
		{
			name: "those of which the Deployment says it", want: 1,
			mc: mc, live: makeDeployment(t, mc, specGeneration(2), counts(2, 4, 1, 3), progress("ReplicaSetUpdated")),
		},
		{name: "none before the Deployment is seen the first time", mc: mc, live: makeDeployment(t, mc)},
		{
			name: "none before a new template is seen",
			mc:   image, before: makeDeployment(t, mc, settled), live: makeDeployment(t, image, settled, next),
		},
		{
			name: "none before a new template and a new size are seen",
			mc:   image, before: five(mc), live: makeDeployment(t, image, counts(1, 5, 5, 5), progress(rolloutComplete), next),
		},
		{
			name: "all of the old size before a new size is seen", want: 5,
			mc: mc, before: five(mc), live: makeDeployment(t, mc, counts(1, 5, 5, 5), progress(rolloutComplete), next),
		},
		{
			name: "none if it is not known what is unseen",
			mc:   mc, live: makeDeployment(t, mc, counts(1, 5, 5, 5), progress(rolloutComplete), next),
		},
		{name: "none if the new template is refused", mc: image, live: makeDeployment(t, mc, settled), written: problem},
		{name: "none if the new template is held back", mc: paused(image), live: makeDeployment(t, mc, settled)},
		{name: "all if a new size is held back", mc: paused(mc), live: five(mc), want: 5},
		{name: "all if another object is refused", mc: mc, live: makeDeployment(t, mc, settled), written: problem, want: 3},
		{name: "none of somebody else's Deployment", mc: mc, live: makeDeployment(t, mc, settled, func(d *appsv1.Deployment) {
			d.OwnerReferences[0].UID = "another"
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			observed := memcached.Observed{Children: memcachedtest.Children(test.before)}
			if test.before == nil {
				observed.Children = memcachedtest.Children(test.live)
			}
			written := test.written
			written.Objects = []client.Object{test.live}
			status := statusOf(test.mc, observed, written, noon)
			if status.UpdatedReplicas != test.want {
				t.Errorf("got %d, want %d", status.UpdatedReplicas, test.want)
			}
			test.mc = test.mc.DeepCopy()
			test.mc.Status = status
			again := statusOf(test.mc, memcached.Observed{Children: memcachedtest.Children(test.live)}, test.written, noon)
			if again.UpdatedReplicas != test.want {
				t.Errorf("computed again from the same facts: %d, want %d", again.UpdatedReplicas, test.want)
			}
		})
	}
}

// TestStatusOfSizeZeroStaysReady covers a last status that counts no updated nodes because there are none.
func TestStatusOfSizeZeroStaysReady(t *testing.T) {
	mc := memcachedtest.Cache(0)
	deployment := makeDeployment(t, mc, settled)
	mc.Status = statusOf(mc, memcached.Observed{Children: memcachedtest.Children(deployment)}, memcached.Written{}, noon)
	next(deployment)
	status := statusOf(mc, memcached.Observed{Children: memcachedtest.Children(deployment)}, memcached.Written{}, noon)
	if ready := conditionOf(status, cachev1alpha1.ConditionReady); ready.Status != metav1.ConditionTrue {
		t.Errorf("%+v", ready)
	}
}

// nextButOne makes two generations that the Deployment controller has not seen.
func nextButOne(d *appsv1.Deployment) { d.Generation += 2 }
