// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// problemOfOrphans returns a problem if there are orphans. Without a workload, and while nodes of the workload change, it returns
// nil, because the workload may still adopt the orphans.
func (f facts) problemOfOrphans(orphans []*corev1.Pod) *memcached.Problem {
	if f.Workload == nil || f.rollout.reason != "" {
		return nil
	}
	return orphaned(f.View, orphans)
}

// orphaned returns a problem that names orphans, or nil if there are none. Clients use the items of these nodes, so only the user
// may remove them. If a ReplicaSet or a workload would replace removed pods, the command in the message deletes that object.
func orphaned(v memcached.View, orphans []*corev1.Pod) *memcached.Problem {
	if len(orphans) == 0 {
		return nil
	}
	var names, objects []string
	left := v.Left()
	for _, pod := range orphans {
		object := "pod/" + pod.Name
		if left != nil && left.Owns(pod) {
			object = strings.ToLower(string(left.Kind)) + "/" + left.GetName()
		} else if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			object = "replicaset/" + owner.Name
		}
		names, objects = append(names, pod.Name), append(objects, object)
	}
	const most = 5
	list := strings.Join(names[:min(most, len(names))], ", ")
	objects = slices.Compact(objects)
	if len(names) > most {
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return &memcached.Problem{
		Reason: cachev1alpha1.ReasonNodesOrphaned,
		Message: fmt.Sprintf("Clients still use nodes of a former workload: %s. To remove them with what they hold: kubectl delete -n %s %s",
			list, v.Memcached.Namespace, strings.Join(objects[:min(most, len(objects))], " ")),
	}
}
