// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// act lets the StatefulSet's controller create and delete pods.
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
	if f.before137 {
		f.removeBefore137(size)
	} else {
		f.removeAs137(size)
	}
	for ordinal := range size {
		if node := f.nodes[ordinal]; node == nil || node.revision() != revisionOf(f.updated) || !node.ready() {
			return
		}
	}
	f.current = f.updated
}

// removeBefore137 does what the StatefulSet's controller does before Kubernetes 1.37. It removes the outdated node with the largest
// number, unless a node with a larger number is not ready. It ignores minReadySeconds.
func (f *fleet) removeBefore137(size int) {
	for ordinal := size - 1; ordinal >= int(f.partition()); ordinal-- {
		switch node := f.nodes[ordinal]; {
		case node.revision() != revisionOf(f.updated):
			f.remove(ordinal)
			return
		case !node.ready():
			return
		}
	}
}

// removeAs137 does what the StatefulSet's controller does from Kubernetes 1.37 on. It removes all outdated nodes that are not available,
// and other outdated nodes as far as maxUnavailable allows. It removes no nodes below the partition, but unavailable nodes there count
// against maxUnavailable. With the default maxUnavailable and podUpdatePolicy, it fails the test if too many serving nodes leave.
func (f *fleet) removeAs137(size int) {
	limit, err := intstr.GetScaledValueFromIntOrPercent(f.set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, size, false)
	if err != nil {
		f.fail("maxUnavailable: %v", err)
	}
	budget, away, serving := max(1, limit), 0, 0
	for _, node := range f.nodes {
		if !f.available(node) {
			budget--
		}
		if !node.ready() {
			away++
		}
	}
	remove := func(ordinal int) {
		if f.nodes[ordinal].ready() {
			serving++
		}
		f.remove(ordinal)
	}
	for ordinal := size - 1; ordinal >= int(f.partition()); ordinal-- {
		if node := f.nodes[ordinal]; node.revision() != revisionOf(f.updated) && !f.available(node) {
			remove(ordinal)
		}
	}
	for ordinal := size - 1; ordinal >= int(f.partition()) && budget > 0; ordinal-- {
		if node := f.nodes[ordinal]; node != nil && node.revision() != revisionOf(f.updated) {
			remove(ordinal)
			budget--
		}
	}
	strategy := f.mc.Spec.UpdateStrategy
	if strategy.PodUpdatePolicy == cachev1alpha1.PodUpdateInPlaceOrRecreate || strategy.MaxUnavailable != nil {
		return
	}
	if serving > 1 || serving > 0 && away > 0 && f.twin == nil {
		f.fail("%d serving nodes leave at once, and %d are away", serving, away)
	}
}

func (f *fleet) available(node *fakeNode) bool {
	return node.available(f.seconds, f.set.Spec.MinReadySeconds)
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
		if f.available(node) {
			status.AvailableReplicas++
		}
		if node.revision() == revisionOf(f.updated) {
			status.UpdatedReplicas++
		}
	}
	f.set.Status = status
}

func revisionOf(template *corev1.PodTemplateSpec) string {
	return "cache-" + sectionOf(template) + template.Annotations[kubectlRestartedAt]
}

func (f *fleet) deliver(ordinal int) {
	if node := f.nodes[ordinal]; node != nil && f.config != nil {
		node.files = maps.Clone(f.config.Data)
	}
}
