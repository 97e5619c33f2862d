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

// restarts are the last requests for restarts and new pods. An empty text means that there was none.
type restarts struct {
	restartedAt, replacedAt string
	// kubectl is the annotation of "kubectl rollout restart".
	kubectl string
}

// lastRestarts reads the last requests from the pod template and from the living pods. So they survive a StatefulSet that somebody deletes
// with --cascade=orphan, and annotations that somebody removes.
func lastRestarts(v memcached.View) (last restarts) {
	pods, entries := append(v.Workload.Nodes(v.Pods), v.Orphans()...), v.Entries()
	if live := v.Workload; live != nil {
		pods = append(pods, &corev1.Pod{ObjectMeta: live.Template.ObjectMeta, Spec: live.Template.Spec})
	}
	for _, pod := range pods {
		asked, _ := memcached.AskedOf(pod.Annotations)
		restartedAt := cmp.Or(pod.Annotations[memcached.RestartedAtAnnotation], memcached.FirstList(pod).Restart)
		if ordinal, ok := memcached.Ordinal(pod); ok && entries[ordinal].Pod == string(pod.UID) {
			restartedAt = entries[ordinal].Restart
		}
		last.restartedAt = max(last.restartedAt, restartedAt)
		last.replacedAt = max(last.replacedAt, asked.ReplacedAt)
		last.kubectl = max(last.kubectl, asked.Restarted)
	}
	if v.Workload != nil {
		last.kubectl = cmp.Or(v.Workload.Template.Annotations[memcached.KubectlRestartedAt], last.kubectl)
	}
	return last
}

// keepRestart sets spec.restartedAt and spec.replacedAt to their last values if the user has removed them, because a removal is no reason
// to restart nodes.
func keepRestart(mc *cachev1alpha1.Memcached, v memcached.View) {
	last := lastRestarts(v)
	for at, text := range map[**metav1.Time]string{&mc.Spec.RestartedAt: last.restartedAt, &mc.Spec.ReplacedAt: last.replacedAt} {
		if parsed, err := time.Parse(time.RFC3339, text); err == nil && (*at).IsZero() {
			*at = &metav1.Time{Time: parsed}
		}
	}
}
