// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// orphanedAnnotation marks a pod whose workload was deleted with --cascade=orphan. Its value is the Kind in the pod's owner
// reference at that time. A pod of a StatefulSet loses this reference. A pod of a Deployment keeps its own, which names a ReplicaSet that
// the simulated cluster does not have.
const orphanedAnnotation = "test.example.com/orphaned-from"

// orphan completes deletions with --cascade=orphan like the garbage collector: the dependents of a deleted object lose their owner.
func (c *cluster) orphan(ctx context.Context, name client.ObjectKey) error {
	objects := []client.Object{&cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}}
	for _, child := range memcached.Children {
		objects = append(objects, child.Named(name))
	}
	for _, object := range objects {
		err := c.live.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return err
		case err != nil || object.GetDeletionTimestamp() == nil || !slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents):
			continue
		}
		if err := c.release(ctx, name, object.GetUID()); err != nil {
			return err
		}
		before := object.DeepCopyObject().(client.Object)
		object.SetFinalizers(nil)
		if err := c.client.Patch(ctx, object, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return nil
}

// release does what the garbage collector does after an owner is deleted: it removes the references to this owner from the children of a
// Memcached, or from the pods of a StatefulSet. The pods of a Deployment keep their references. release also sets orphanedAnnotation on
// all pods of the owner.
func (c *cluster) release(ctx context.Context, name client.ObjectKey, owner types.UID) error {
	for _, child := range memcached.Children {
		object := child.Named(name)
		if err := c.live.Get(ctx, client.ObjectKeyFromObject(object), object); client.IgnoreNotFound(err) != nil {
			return err
		} else if err != nil {
			continue
		}
		before := object.DeepCopyObject().(client.Object)
		object.SetOwnerReferences(slices.DeleteFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner }))
		if len(object.GetOwnerReferences()) == len(before.GetOwnerReferences()) {
			continue
		}
		if err := c.client.Patch(ctx, object, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	var pods corev1.PodList
	err := c.live.List(ctx, &pods, client.InNamespace(name.Namespace), client.MatchingLabels{memcached.InstanceLabel: name.Name})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if of := metav1.GetControllerOfNoCopy(pod); of == nil || of.UID != owner {
			continue
		}
		before := pod.DeepCopy()
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, orphanedAnnotation, pod.OwnerReferences[0].Kind)
		if pod.OwnerReferences[0].Kind == "StatefulSet" {
			pod.OwnerReferences = nil
		}
		if err := c.client.Patch(ctx, pod, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) adopt(ctx context.Context, w client.Object, pod *corev1.Pod) error {
	before := pod.DeepCopy()
	if len(pod.OwnerReferences) == 0 {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: w.GetName(), APIVersion: "apps/v1", Controller: ptr.To(true)}}
	}
	pod.OwnerReferences[0].UID = w.GetUID()
	delete(pod.Annotations, orphanedAnnotation)
	return c.client.Patch(ctx, pod, client.MergeFrom(before))
}

// orphans returns the names of the orphaned pods that no workload has adopted and that are not terminating.
func (o objects) orphans() []string {
	var names []string
	for _, pod := range o.pods() {
		if pod.Annotations[orphanedAnnotation] != "" && pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	return names
}

// orphansReported checks that the status of the Memcached is Degraded because of orphaned pods, and that it lists all of them.
func orphansReported(now objects) string {
	mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
	if mc == nil || len(now.orphans()) == 0 {
		return "there are no orphans"
	}
	degraded := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded)
	if degraded == nil || degraded.Reason != cachev1alpha1.ReasonNodesOrphaned || mc.Status.ObservedGeneration != mc.Generation {
		return "the status does not report them"
	}
	for _, name := range now.orphans() {
		if !slices.Contains(mc.Status.Nodes, name) {
			return name + " is not in the status"
		}
	}
	return ""
}
