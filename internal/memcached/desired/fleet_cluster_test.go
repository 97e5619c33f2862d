// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// act lets the StatefulSet's controller create and delete pods. Of the outdated pods, it deletes the one with the largest number,
// unless a pod with a larger number is not ready.
func (f *fleet) act() {
	if f.set == nil {
		return
	}
	size := int(*f.set.Spec.Replicas)
	for ordinal := range f.nodes {
		if ordinal >= size {
			f.remove(ordinal)
		}
	}
	for ordinal := range size {
		if f.nodes[ordinal] != nil {
			continue
		}
		f.made++
		template := f.updated
		if f.twin == nil && f.made%3 == 0 || ordinal < int(f.partition()) {
			template = f.current // during a rollout, a new pod may get the earlier template
		}
		f.nodes[ordinal] = &fakeNode{
			ordinal: ordinal, uid: types.UID(fmt.Sprintf("%s-%d-%d", f.mc.Name, ordinal, f.made)), template: template, fills: f.twin != nil,
		}
	}
	f.removeUnavailable(size)
	for ordinal := size - 1; ordinal >= int(f.partition()); ordinal-- {
		switch node := f.nodes[ordinal]; {
		case node == nil:
			return
		case node.revision() != revisionOf(f.updated):
			f.remove(ordinal)
			return
		case !node.available(f.seconds, f.set.Spec.MinReadySeconds):
			return
		}
	}
	for _, node := range f.nodes {
		if node.revision() != revisionOf(f.updated) || !node.ready() {
			return
		}
	}
	f.current = f.updated
}

// removeUnavailable removes all outdated nodes at once that are not available, as the StatefulSet's controller does from Kubernetes 1.37
// on. At most one of them may serve.
func (f *fleet) removeUnavailable(size int) {
	serving := 0
	for ordinal := int(f.partition()); ordinal < size; ordinal++ {
		if node := f.nodes[ordinal]; node.revision() != revisionOf(f.updated) && !node.available(f.seconds, f.set.Spec.MinReadySeconds) {
			if node.ready() {
				serving++
			}
			f.remove(ordinal)
		}
	}
	if serving > 1 && f.mc.Spec.UpdateStrategy.PodUpdatePolicy != cachev1alpha1.PodUpdateInPlaceIfPossible {
		f.fail("%d serving nodes leave at once", serving)
	}
}

func (f *fleet) remove(ordinal int) {
	f.log = append(f.log, fmt.Sprintf("%d leaves", ordinal))
	delete(f.nodes, ordinal)
}

func (f *fleet) report() {
	if f.set == nil {
		return
	}
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: f.set.Generation, Replicas: int32(len(f.nodes)),
		CurrentRevision: revisionOf(f.current), UpdateRevision: revisionOf(f.updated),
	}
	for _, node := range f.nodes {
		if node.ready() {
			status.ReadyReplicas++
		}
		if node.available(f.seconds, f.set.Spec.MinReadySeconds) {
			status.AvailableReplicas++
		}
		if node.revision() == revisionOf(f.updated) {
			status.UpdatedReplicas++
		}
	}
	f.set.Status = status
}

func revisionOf(template *corev1.PodTemplateSpec) string { return "cache-" + sectionOf(template) }

func (f *fleet) deliver(ordinal int) {
	if node := f.nodes[ordinal]; node != nil && f.config != nil {
		node.files = maps.Clone(f.config.Data)
	}
}
