// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// podAnnotations returns the annotations of the pods, nil for none. Those of a StatefulSet do not include spec.restartedAt: it is
// in the argument list, because the launcher restarts memcached without a new pod.
func podAnnotations(mc *cachev1alpha1.Memcached, volumes []corev1.Volume) map[string]string {
	annotations := render.Annotations(mc.Spec.PodMetadata)
	if memcached.IsStatefulSet(mc) {
		return evictable(volumes, annotations)
	}
	restarted := timeOf(mc.Spec.RestartedAt)
	if restarted == "" {
		return annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[memcached.RestartedAtAnnotation] = restarted // a new value changes the template, so the pods are replaced
	return annotations
}

// keepRestart sets spec.restartedAt and spec.replacedAt to their last values if the user has removed them, because a removal is no reason
// to restart nodes.
func keepRestart(mc *cachev1alpha1.Memcached, v memcached.View) {
	live := v.Workload
	if live == nil {
		return
	}
	for annotation, at := range map[string]**metav1.Time{
		memcached.RestartedAtAnnotation: &mc.Spec.RestartedAt, memcached.ReplacedAtAnnotation: &mc.Spec.ReplacedAt,
	} {
		text := cmp.Or(live.GetAnnotations()[annotation], live.Template.Annotations[annotation])
		if last, err := time.Parse(time.RFC3339, text); err == nil && (*at).IsZero() {
			*at = &metav1.Time{Time: last}
		}
	}
}
