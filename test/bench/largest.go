// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	// mostEntries is how many labels or annotations may be added, and how many cluster nodes' labels or taints named.
	mostEntries = 64
	mostSpreads = 16
	// reserve leaves room for the annotations that others add.
	reserve = 8 << 10
)

// largest returns a Memcached that is about as large as the API server accepts one, with children that it accepts too. No
// cluster node bears the labels that it asks for, so its pod waits.
func largest(namespace, name string) *cachev1alpha1.Memcached {
	metadata := cachev1alpha1.Metadata{
		Labels:      map[string]cachev1alpha1.LabelValue{},
		Annotations: annotations(validation.TotalAnnotationSizeLimitB - reserve),
	}
	scheduling := cachev1alpha1.MemcachedScheduling{NodeSelector: map[string]string{}}
	for i := range mostEntries {
		metadata.Labels[longKey(i)] = cachev1alpha1.LabelValue(longValue)
		scheduling.NodeSelector[longKey(i)] = longValue
		scheduling.Tolerations = append(scheduling.Tolerations, corev1.Toleration{
			Key: longKey(i), Operator: corev1.TolerationOpEqual, Value: longValue, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	for i := range mostSpreads {
		scheduling.TopologySpreadConstraints = append(scheduling.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: longKey(i), WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{longKey(i): longValue}},
		})
	}
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: annotations(validation.TotalAnnotationSizeLimitB - reserve),
		},
		Spec: cachev1alpha1.MemcachedSpec{
			Size: 1, PodMetadata: metadata, Scheduling: scheduling, Service: cachev1alpha1.MemcachedService{Metadata: metadata},
		},
	}
}

var longValue = strings.Repeat("v", 63)

// longKey returns a key as long as one may be: a DNS name of 253 characters, a slash and 63 more.
func longKey(i int) string {
	label := strings.Repeat("k", 61)
	return fmt.Sprintf("%[1]s.%[1]s.%[1]s.%[1]s.example/%[2]s%02[3]d", label[:60], label, i)
}

// annotations returns as many as there may be, with so many bytes in all.
func annotations(size int) map[string]string {
	found := map[string]string{}
	for i := range mostEntries {
		key := longKey(i)
		found[key] = strings.Repeat("a", size/mostEntries-len(key))
	}
	return found
}
