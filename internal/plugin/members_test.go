// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TestPortsOfNodes checks the ports of nodes with and without TLS. The plugin always uses port 11211, because memcached needs no
// TLS at the pod's loopback address.
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
		members, err := membersOf(&cachev1alpha1.Memcached{}, []corev1.Pod{pod}, view{by: byAddress})
		if err != nil || len(members) != 1 || members[0].server() != server {
			t.Errorf("the members of %s are %v: %v", server, members, err)
		}
		if asked := portOf(&pod); asked != 11211 {
			t.Errorf("%s is asked on port %d", server, asked)
		}
	}
}

// TestChosenPort checks clients that choose a port. On the hash ring, port 11212 is part of the nodes' names.
func TestChosenPort(t *testing.T) {
	plain := corev1.ContainerPort{Name: "memcached", ContainerPort: 11211}
	tls := corev1.ContainerPort{Name: "memcached-tls", ContainerPort: 11212}
	mc := newCache("shop", "pages", 1, cachev1alpha1.WorkloadStatefulSet)
	mc.Status.Servers = []string{"pages-0.pages.shop.svc:11211"}
	const noTLS, noPlaintext = "the nodes of shop/pages do not open port 11212: spec.tls does",
		"the nodes of shop/pages do not open port 11211: spec.tls.plaintext: Enabled does"
	for name, test := range map[string]struct {
		ports []corev1.ContainerPort
		view  view
		want  string
	}{
		"announced":       {[]corev1.ContainerPort{plain, tls}, view{}, "pages-0.pages.shop.svc"},
		"plaintext":       {[]corev1.ContainerPort{plain, tls}, view{port: 11211}, "pages-0.pages.shop.svc"},
		"TLS":             {[]corev1.ContainerPort{plain, tls}, view{port: 11212}, "pages-0.pages.shop.svc:11212"},
		"TLS by address":  {[]corev1.ContainerPort{plain, tls}, view{byAddress, 11212}, "10.0.0.1:11212"},
		"without TLS":     {[]corev1.ContainerPort{plain}, view{port: 11212}, noTLS},
		"TLS only":        {[]corev1.ContainerPort{tls}, view{byAddress, 11212}, "10.0.0.1:11212"},
		"TLS only, 11211": {[]corev1.ContainerPort{tls}, view{byAddress, 11211}, noPlaintext},
	} {
		pod := newPod(mc, "pages-0", "10.0.0.1")
		pod.Spec.Containers[0].Ports = test.ports
		members, err := membersOf(mc, []corev1.Pod{*pod}, test.view)
		got := ""
		if err != nil {
			got = err.Error()
		} else if len(members) == 1 {
			got = members[0].ringName()
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// TestMembersWithoutPods checks a StatefulSet that has no pods. The names in status.servers are the members, whatever the port.
// Without names, the cache has no nodes.
func TestMembersWithoutPods(t *testing.T) {
	mc := newCache("shop", "pages", 1, cachev1alpha1.WorkloadStatefulSet)
	mc.Status.Servers = []string{"pages-0.pages.shop.svc:11211"}
	members, err := membersOf(mc, nil, view{port: 11211})
	if err != nil || len(members) != 1 {
		t.Errorf("the members are %v: %v", members, err)
	}
	mc.Status.Servers = nil
	if _, err := membersOf(mc, nil, view{by: byName}); err == nil || err.Error() != "shop/pages has no nodes" {
		t.Errorf("the error of a cache of size 0 is %v", err)
	}
}
