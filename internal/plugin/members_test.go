// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TestPortsOfNodes has nodes with and without TLS: the plugin asks them through the loopback address of the pod, where there is none.
func TestPortsOfNodes(t *testing.T) {
	plain := corev1.ContainerPort{Name: "memcached", ContainerPort: 11211}
	tls := corev1.ContainerPort{Name: "memcached-tls", ContainerPort: 11212}
	for server, ports := range map[string][]corev1.ContainerPort{
		"10.0.0.1:11211": {plain}, "10.0.0.2:11211": {plain, tls}, "10.0.0.3:11212": {tls}, "10.0.0.4:11211": nil,
	} {
		pod := corev1.Pod{Status: corev1.PodStatus{
			PodIP: server[:len("10.0.0.1")], Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}}
		pod.Spec.Containers = []corev1.Container{{Name: "injected", Ports: []corev1.ContainerPort{tls}}, {Name: "memcached", Ports: ports}}
		members, err := membersOf(&cachev1alpha1.Memcached{}, []corev1.Pod{pod}, byAddress)
		if err != nil || len(members) != 1 || members[0].server() != server {
			t.Errorf("the members of %s are %v: %v", server, members, err)
		}
		if asked := portOf(&pod); asked != 11211 {
			t.Errorf("%s is asked on port %d", server, asked)
		}
	}
}
