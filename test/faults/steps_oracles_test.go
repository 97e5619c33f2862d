// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// stepViolations checks the steps of the nodes of a StatefulSet. A step must not stop a node while another one that has been ready once is
// away: the budget is one node in all scenarios. A pod must not be replaced without a reason, nor be asked again for what it was asked for.
func stepViolations(entries []entry) []string {
	var found []string
	now, served := objects{}, map[string]bool{}
	for _, e := range entries {
		for _, s := range stepsIn(now, e) {
			if s.violation != "" {
				found = append(found, fmt.Sprintf("version %d: %s %s", e.version, s.pod.Name, s.violation))
			}
			if other := awayBeside(now, s.pod, served); s.stops && podReady(s.pod) && other != "" {
				found = append(found, fmt.Sprintf("version %d: %s stops while %s is away", e.version, s.pod.Name, other))
			}
		}
		now.add(e)
		if pod, ok := e.object.(*corev1.Pod); ok && podReady(pod) {
			served[pod.Name] = true
		}
	}
	return found
}

// step is a step of the operator that changes or deletes a pod.
type step struct {
	pod       *corev1.Pod
	stops     bool
	violation string
}

// stepsIn returns the steps that a change contains. It leaves out what the StatefulSet's controller or somebody else does.
func stepsIn(now objects, e entry) []step {
	set := get[*appsv1.StatefulSet](now, "statefulsets")
	var steps []step
	for _, pod := range now.pods() {
		ordinal, _ := memcached.Ordinal(pod)
		if set == nil || !metav1.IsControlledBy(pod, set) || ordinal >= int(*set.Spec.Replicas) || pod.DeletionTimestamp != nil || disrupted(pod) {
			continue
		}
		switch object := e.object.(type) {
		case *corev1.Pod:
			switch {
			case object.UID != pod.UID || disrupted(object):
			case e.event == watch.Deleted || object.DeletionTimestamp != nil:
				steps = append(steps, replacement(now, pod, set))
			case !equality.Semantic.DeepEqual(object.Spec.Containers, pod.Spec.Containers):
				steps = append(steps, changeInPlace(pod, object))
			}
		case *corev1.ConfigMap:
			if before, _ := now[e.key()].(*corev1.ConfigMap); e.event != watch.Deleted {
				steps = append(steps, assignment(before, object, pod)...)
			}
		}
	}
	return steps
}

// disrupted reports whether somebody else stops a pod.
func disrupted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || memcached.PodCondition(pod, corev1.DisruptionTarget) != nil
}

// replacement checks that the template has something that the pod cannot get in place.
func replacement(now objects, pod *corev1.Pod, set *appsv1.StatefulSet) step {
	has, _ := memcached.AskedOf(pod.Annotations)
	wants, _ := memcached.AskedOf(set.Spec.Template.Annotations)
	mc := get[*cachev1alpha1.Memcached](now, "memcacheds")
	inPlace := mc != nil && mc.Spec.UpdateStrategy.PodUpdatePolicy == cachev1alpha1.PodUpdateInPlaceOrRecreate
	s := step{pod: pod, stops: true}
	if has.Template == wants.Template && (inPlace || has.Image == wants.Image && has.Resources == wants.Resources) {
		s.violation = fmt.Sprintf("is replaced without a reason: it was asked for %+v, a new one for %+v", has, wants)
	}
	return s
}

// changeInPlace checks that a patch of a pod is recorded as another wish, and that no arguments of before need more memory.
func changeInPlace(before, after *corev1.Pod) step {
	had, _ := memcached.AskedOf(before.Annotations)
	has, _ := memcached.AskedOf(after.Annotations)
	image := before.Spec.Containers[0].Image != after.Spec.Containers[0].Image
	s := step{pod: before, stops: image}
	if image && had.Image == has.Image {
		s.violation = fmt.Sprintf("gets the image %s although it was asked for it before", after.Spec.Containers[0].Image)
	}
	return s
}

// assignment returns the change of a pod's entry, or nothing if there is none.
func assignment(before, after *corev1.ConfigMap, pod *corev1.Pod) []step {
	entry, former, list := entryOf(after, pod), entryOf(&corev1.ConfigMap{}, pod), memcached.FirstList(pod)
	if before != nil {
		former = entryOf(before, pod)
	}
	if former.Number != 0 {
		list = former.List
	}
	if entry.Number == 0 || entry.Number == former.Number {
		return nil
	}
	s := step{pod: pod, stops: restarts(list, entry.List)}
	if list == entry.List && entry.Refused == nil {
		s.violation = "is asked again for the arguments " + list.Arguments
	}
	return []step{s}
}

// awayBeside returns the name of another node that has been ready once, and is missing, not ready or about to restart. It returns "" if there
// is none.
func awayBeside(now objects, pod *corev1.Pod, served map[string]bool) string {
	set := get[*appsv1.StatefulSet](now, "statefulsets")
	for ordinal := range int(*set.Spec.Replicas) {
		name := fmt.Sprintf("%s-%d", cacheName, ordinal)
		other, exists := now["pods/"+name].(*corev1.Pod)
		if name == pod.Name || !served[name] || exists && podReady(other) && other.DeletionTimestamp == nil && !restartsSoon(other) {
			continue
		}
		return name
	}
	return ""
}

// restartsSoon reports whether the kubelet has not applied a new image yet.
func restartsSoon(pod *corev1.Pod) bool {
	status := memcached.StatusOf(pod, memcached.ContainerName)
	return status != nil && status.Image != pod.Spec.Containers[0].Image
}
