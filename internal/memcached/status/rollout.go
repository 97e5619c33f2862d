// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// rolloutState is what the controller of the workload is doing.
type rolloutState struct {
	// reason is a reason of the Progressing condition, empty if there is nothing to do.
	reason, message string
	// deadlineMessage is the workload's own message once it has waited longer than its progress deadline.
	deadlineMessage string
	// templateUnobserved reports that the controller may not have seen the template, so that the number of updated nodes that the
	// workload reports is about an earlier one.
	templateUnobserved bool
}

// templateObserved reports whether the controller of the workload has seen the pod template: only then are the nodes those that the
// workload counts. A generation that it has not seen says nothing about that, since annotations, minReadySeconds and the size
// make one too. The template was seen if it is the one of the workload as it was observed before this process wrote, in a
// generation that had been seen. If that is not known (nothing was written, or twice in a moment), the last status decides, if
// it is about the present spec: it counts no updated nodes while the template is unobserved. In doubt the template was not seen:
// then the Memcached is not Ready until the controller has looked.
func templateObserved(mc *cachev1alpha1.Memcached, before, present *memcached.Workload) bool {
	if present == nil || !present.Unobserved() {
		return true
	}
	if before != nil {
		if before.GetUID() != present.GetUID() || !equality.Semantic.DeepEqual(before.Template, present.Template) {
			return false
		}
		if !before.Unobserved() {
			return true
		}
	}
	counted := mc.Status.UpdatedReplicas > 0 || meta.IsStatusConditionTrue(mc.Status.Conditions, cachev1alpha1.ConditionReady)
	return counted && mc.Status.ObservedGeneration == mc.Generation
}

func rolloutStateOf(w *memcached.Workload, size int32, templateObserved bool) rolloutState {
	if w == nil || w.ObservedGeneration == 0 {
		return rolloutState{reason: cachev1alpha1.ReasonCreating, message: "Starting " + countNodes(size)}
	}
	// A Deployment keeps the reason of its last rollout while it scales, and also while it begins another one that creates no
	// ReplicaSet: then not all of its nodes are updated.
	settled := !templateObserved || w.Complete && w.Updated == w.Replicas
	switch {
	case settled && w.Replicas != size:
		return rolloutState{
			reason:             cachev1alpha1.ReasonScaling,
			message:            fmt.Sprintf("Scaling from %d to %d nodes", w.Replicas, size),
			templateUnobserved: !templateObserved,
		}
	case !templateObserved:
		return rolloutState{
			reason: cachev1alpha1.ReasonRollingOut, message: "Updating " + countNodes(size), templateUnobserved: true,
		}
	case settled:
		return rolloutState{}
	case w.First && !w.Complete:
		return rolloutState{
			reason:          cachev1alpha1.ReasonCreating,
			message:         fmt.Sprintf("%d of %d nodes are started", w.Ready, size),
			deadlineMessage: w.Overdue,
		}
	default:
		return rolloutState{
			reason:          cachev1alpha1.ReasonRollingOut,
			message:         fmt.Sprintf("%d of %d nodes are updated", w.Updated, size),
			deadlineMessage: w.Overdue,
		}
	}
}
