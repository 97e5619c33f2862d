// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// configurations is how many lists of containers are remembered. Clusters with more share less.
const configurations = 256

// sharedParts are what objects in the cache have in common with others, and hold in memory once. Most caches are configured alike,
// so their containers are equal, which need a third of the memory of a Deployment. The pods of one workload follow each other in a
// list. What is in the cache is never changed.
type sharedParts struct {
	mutex      sync.Mutex
	containers map[string][]corev1.Container // by what distinguishes most of them
	// labels and owners are those of the last pod.
	labels map[string]string
	owners []metav1.OwnerReference
}

// shareContainers replaces the containers of a template by equal ones, if some were seen before.
func (s *sharedParts) shareContainers(template *corev1.PodTemplateSpec) {
	var key strings.Builder
	for i := range template.Spec.Containers {
		container := &template.Spec.Containers[i]
		for _, text := range slices.Concat([]string{container.Image}, container.Args) {
			key.WriteString(text)
			key.WriteByte(0)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	// The same amount may be written in several ways, which must stay different: so all must be equal, to the last detail.
	if seen := s.containers[key.String()]; reflect.DeepEqual(seen, template.Spec.Containers) {
		template.Spec.Containers = seen
		return
	}
	if s.containers == nil || len(s.containers) >= configurations {
		s.containers = map[string][]corev1.Container{}
	}
	s.containers[key.String()] = template.Spec.Containers
}

// sharePod replaces the labels and owners of a pod by those of the last one, if they are equal.
func (s *sharedParts) sharePod(pod *corev1.Pod) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if maps.Equal(pod.Labels, s.labels) {
		pod.Labels = s.labels
	}
	if reflect.DeepEqual(pod.OwnerReferences, s.owners) {
		pod.OwnerReferences = s.owners
	}
	s.labels, s.owners = pod.Labels, pod.OwnerReferences
}
