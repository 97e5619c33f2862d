// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

// restartedAtAnnotation holds spec.restartedAt in a Deployment's pod template. A new value changes the template, so the pods are
// replaced.
const restartedAtAnnotation = "cache.example.com/restarted-at"

// podAnnotations returns the annotations of the pods, nil for none. Those of a StatefulSet do not include spec.restartedAt: it is
// in the argument list, because the launcher restarts memcached without a new pod.
func podAnnotations(mc *cachev1alpha1.Memcached, volumes []corev1.Volume) map[string]string {
	annotations := render.Annotations(mc.Spec.PodMetadata)
	if memcached.IsStatefulSet(mc) {
		return evictable(volumes, annotations)
	}
	if mc.Spec.RestartedAt.IsZero() { // Go clients encode the zero time as null, so it counts as unset
		return annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[restartedAtAnnotation] = mc.Spec.RestartedAt.UTC().Format(time.RFC3339)
	return annotations
}

// restartedAt returns spec.restartedAt in whole seconds, the precision of the API server, or nil if it is unset.
func restartedAt(mc *cachev1alpha1.Memcached) *metav1.Time {
	if mc.Spec.RestartedAt.IsZero() {
		return nil
	}
	return ptr.To(mc.Spec.RestartedAt.Rfc3339Copy())
}

// keepRestart sets spec.restartedAt to the last value if the user has removed it, because a removal is no reason to restart nodes.
func keepRestart(mc *cachev1alpha1.Memcached, v memcached.View) {
	if !mc.Spec.RestartedAt.IsZero() {
		return
	}
	if last := v.Last.Applied; last != nil {
		mc.Spec.RestartedAt = last.RestartedAt
		return
	}
	live := v.Workload
	if live == nil {
		return
	}
	arguments := v.Arguments()
	section := arguments.Sections[live.Template.Annotations[memcached.TemplateAnnotation]]
	text := cmp.Or(live.Template.Annotations[restartedAtAnnotation], arguments.Lists[section.Default].RestartedAt)
	if restarted, err := time.Parse(time.RFC3339, text); err == nil {
		mc.Spec.RestartedAt = &metav1.Time{Time: restarted}
	}
}

// kubectlRestartedAt is the annotation of the pod template that "kubectl rollout restart" sets.
const kubectlRestartedAt = "kubectl.kubernetes.io/restartedAt"

// rolloutRestartedAt returns when somebody last ran "kubectl rollout restart" on the StatefulSet, or "". It does not cover
// spec.restartedAt, which restarts the nodes of a StatefulSet in their pods.
func rolloutRestartedAt(v memcached.View) string {
	const longest = 64 // kubectl writes 25 bytes
	live := v.Workload
	if live == nil || live.Kind != cachev1alpha1.WorkloadStatefulSet {
		return ""
	}
	text := live.Template.Annotations[kubectlRestartedAt]
	return strings.ToValidUTF8(text[:min(len(text), longest)], "") // the API server would replace a character that is cut off
}
