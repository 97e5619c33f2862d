// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// Observed is what was read of the cluster for one Memcached, in a single pass. It holds facts, no decisions: the
// objects bear the name of the Memcached, and may belong to somebody else.
type Observed struct {
	// Deployment, Service and PodDisruptionBudget are nil if there is none.
	Deployment          *appsv1.Deployment
	Service             *corev1.Service
	PodDisruptionBudget *policyv1.PodDisruptionBudget
	// Pods have the instance label of the Memcached and have not succeeded. They are reduced to what Status reads: see the
	// cache options of the controllers.
	Pods []corev1.Pod

	// before is the Deployment that was observed before With put another one in its place.
	before *appsv1.Deployment
}

// Objects are the objects that exist, in the order of Desired.
func (o Observed) Objects() []client.Object {
	objects := []client.Object{}
	if o.Service != nil {
		objects = append(objects, o.Service)
	}
	if o.PodDisruptionBudget != nil {
		objects = append(objects, o.PodDisruptionBudget)
	}
	if o.Deployment != nil {
		objects = append(objects, o.Deployment)
	}
	return objects
}

// With returns the observation with the given objects, which are the answers to writes, in the place of those of the same
// kind.
func (o Observed) With(objects []client.Object) Observed {
	o.before = o.Deployment
	for _, object := range objects {
		switch object := object.(type) {
		case *appsv1.Deployment:
			o.Deployment = object
		case *corev1.Service:
			o.Service = object
		case *policyv1.PodDisruptionBudget:
			o.PodDisruptionBudget = object
		}
	}
	return o
}

// deploymentOf returns the Deployment that belongs to the Memcached, or nil. One that was made for a Memcached of the name and has
// no owner any more belongs to it: its pods hold the cache.
func (o Observed) deploymentOf(mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	if o.Deployment == nil {
		return nil
	}
	orphaned := metav1.GetControllerOfNoCopy(o.Deployment) == nil && o.Deployment.Annotations[templateHashAnnotation] != "" &&

		maps.Equal(ptr.Deref(o.Deployment.Spec.Selector, metav1.LabelSelector{}).MatchLabels, selectorLabels(mc))
	if !orphaned && !metav1.IsControlledBy(o.Deployment, mc) {
		return nil
	}
	return o.Deployment
}
