// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// RefusalReason returns the reason of Degraded for the API server's message about a refused object. Only the text of the message
// tells quotas, RBAC, policies and webhooks apart: they share status reasons, such as Forbidden. When a pod was refused, its
// workload reports only the text.
func RefusalReason(message string) string {
	has := func(text string) bool { return strings.Contains(message, text) }
	switch {
	case slices.ContainsFunc([]string{"exceeded quota", "failed quota", "status unknown for quota", "insufficient quota"}, has):
		return cachev1alpha1.ReasonQuotaExceeded
	case slices.ContainsFunc([]string{
		"violates PodSecurity", "admission webhook", "failed calling webhook", "unable to validate against any security context constraint",
		"denied request: ", // ValidatingAdmissionPolicy and MutatingAdmissionPolicy
	}, has):
		return cachev1alpha1.ReasonAdmissionDenied
	case has(nameTaken):
		return cachev1alpha1.ReasonConflict
	// Other admission plugins, such as LimitRange, PriorityClass and ServiceAccount. A message about missing permissions also contains
	// "is forbidden: ", but names the user. The last text is that of an API server that is starting.
	case has("is forbidden: ") && !has(`User "`) && !has("not yet ready to handle request"):
		return cachev1alpha1.ReasonAdmissionDenied
	default:
		return cachev1alpha1.ReasonApplyFailed
	}
}

// refusedAs returns the API server's words about refused pods, if they have this reason.
func refusedAs(reason string) func(*facts) string {
	return func(f *facts) string {
		if w := f.Workload; w != nil && w.Refused != "" && RefusalReason(w.Refused) == reason {
			return w.Refused
		}
		return ""
	}
}

// refusalPatience is how long a StatefulSet may lack pods until its events are read. refusalInterval is how soon they are read again.
const (
	refusalPatience = 3 * time.Second
	refusalInterval = 4 * time.Second
)

// lacking returns the first StatefulSet that has lacked pods for this long, or nil.
func lacking(v memcached.View, patience time.Duration) *memcached.Workload {
	for _, w := range v.Workloads {
		if since := missingSince(v, w); !since.IsZero() && v.Now.Sub(since) >= patience {
			return w
		}
	}
	return nil
}

// missingSince returns since when a StatefulSet may lack pods, or the zero time if it lacks none. Pods that terminate or have failed count
// until they are gone.
func missingSince(v memcached.View, w *memcached.Workload) time.Time {
	last := meta.FindStatusCondition(v.Last.Conditions, ready)
	if w == nil || w.Kind != cachev1alpha1.WorkloadStatefulSet || w.Unobserved() || v.Memcached.DeletionTimestamp != nil ||
		last == nil || last.Status == is {
		return time.Time{}
	}
	pods := int32(0)
	for i := range v.Pods {
		if w.Owns(&v.Pods[i]) {
			pods++
		}
	}
	if pods >= w.Size {
		return time.Time{}
	}
	return memcached.Later(last.LastTransitionTime.Time, w.GetCreationTimestamp().Time)
}

// LacksPods returns a StatefulSet that lacks pods for some seconds, if nothing that the operator watches says why, and nil otherwise.
func LacksPods(v memcached.View) *memcached.Workload {
	scaling := change{reason: cachev1alpha1.ReasonScaling} // orphans explain nothing
	if w := lacking(v, refusalPatience); w != nil && !(&facts{View: v, change: scaling}).podsTroubled() {
		return w
	}
	return nil
}

// MissingPod returns the name of the first pod that a StatefulSet lacks.
func MissingPod(v memcached.View, w *memcached.Workload) string {
	for number := 0; ; number++ {
		name := fmt.Sprintf("%s-%d", w.GetName(), number)
		if !slices.ContainsFunc(v.Pods, func(pod corev1.Pod) bool { return pod.Name == name && w.Owns(&pod) }) {
			return name
		}
	}
}

const nameTaken = " has the name of a node, and does not belong to StatefulSet "

// RefusalIn returns the API server's words in the latest of the events with the reason FailedCreate of a StatefulSet, or "". An event from
// before the pods were missing, or before the latest pod was created, is over. If another pod has the name of a missing one, the controller
// of StatefulSets records no event. Usually, somebody has taken a label from that pod.
func RefusalIn(v memcached.View, w *memcached.Workload, events []eventsv1.Event, named []corev1.Pod) (refusal string) {
	for i := range named {
		if pod := &named[i]; !w.Owns(pod) && pod.DeletionTimestamp == nil {
			return fmt.Sprintf("Pod %s"+nameTaken+"%s, perhaps because it lost a label. To take it back with its items: kubectl label pod %[1]s "+
				"-n %[3]s --overwrite %[4]s; to start an empty one: kubectl delete pod %[1]s -n %[3]s",
				pod.Name, w.GetName(), pod.Namespace, strings.ReplaceAll(labels.FormatLabels(w.Selector), ",", " "))
		}
	}
	at := missingSince(v, w)
	for i := range v.Pods {
		if w.Owns(&v.Pods[i]) {
			at = memcached.Later(at, v.Pods[i].CreationTimestamp.Time)
		}
	}
	for i := range events {
		seen := memcached.Later(events[i].EventTime.Time, events[i].DeprecatedLastTimestamp.Time)
		if series := events[i].Series; series != nil {
			seen = memcached.Later(seen, series.LastObservedTime.Time)
		}
		if _, words, found := strings.Cut(events[i].Note, " failed error: "); found && !seen.Before(at.Truncate(time.Second)) {
			refusal, at = words, seen
		}
	}
	return refusal
}

// specFields maps fields of a workload or a NetworkPolicy to the Memcached's fields that set them.
var specFields = strings.NewReplacer(
	"spec.template.spec.affinity", "spec.scheduling.affinity",
	"spec.template.spec.imagePullSecrets", "spec.imagePullSecrets",
	"spec.template.spec.nodeSelector", "spec.scheduling.nodeSelector",
	"spec.template.spec.priorityClassName", "spec.scheduling.priorityClassName",
	"spec.template.spec.tolerations", "spec.scheduling.tolerations",
	"spec.template.spec.topologySpreadConstraints", "spec.scheduling.topologySpreadConstraints",
	"spec.template.annotations", "spec.podMetadata.annotations",
	"spec.template.labels", "spec.podMetadata.labels",
	"spec.strategy.rollingUpdate", "spec.updateStrategy",
	"spec.ingress[0].from", "spec.networkPolicy.from",
	"spec.ingress[1].from", "spec.networkPolicy.metricsFrom",
)

// NameSpecFields replaces names of an object's fields in a message by the names of the Memcached's fields that set them.
func NameSpecFields(message string) string { return specFields.Replace(message) }
