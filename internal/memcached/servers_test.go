// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

const (
	deployments  = cachev1alpha1.WorkloadDeployment
	statefulSets = cachev1alpha1.WorkloadStatefulSet
)

// workloadOf returns a workload with this owner and size. The Memcached of the test has the UID "ours".
func workloadOf(kind cachev1alpha1.WorkloadKind, owner types.UID, size int32) client.Object {
	metadata := metav1.ObjectMeta{
		Name: "cache", Namespace: "shop", OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: ptr.To(true)}},
	}
	if kind == deployments {
		return &appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{Replicas: &size}}
	}
	return &appsv1.StatefulSet{ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{Replicas: &size}}
}

func TestServers(t *testing.T) {
	const none = -1 // there is no list, not even an empty one
	set := func(size int32) client.Object { return workloadOf(statefulSets, "ours", size) }
	refusedOne := set(3)
	refusedOne.(*appsv1.StatefulSet).Status.Replicas = 2
	deployment := func(size int32) client.Object { return workloadOf(deployments, "ours", size) }
	for name, test := range map[string]struct {
		workload cachev1alpha1.WorkloadKind
		size     int32
		paused   bool
		// reported is the number of servers in the last status.
		reported int
		children []client.Object
		want     int
	}{
		"a Deployment":                          {deployments, 3, false, 0, []client.Object{deployment(3)}, none},
		"by default a Deployment":               {"", 3, false, 0, []client.Object{deployment(3)}, none},
		"a StatefulSet":                         {statefulSets, 3, false, 3, []client.Object{set(3)}, 3},
		"one node":                              {statefulSets, 1, false, 1, []client.Object{set(1)}, 1},
		"more than ten":                         {statefulSets, 12, false, 12, []client.Object{set(12)}, 12},
		"the status was lost":                   {statefulSets, 3, false, 0, []client.Object{set(3)}, 3},
		"nothing exists yet":                    {statefulSets, 3, false, 0, nil, 3},
		"the StatefulSet has just been created": {statefulSets, 3, false, 0, []client.Object{set(3)}, 3},
		"a quota allows two of them":            {statefulSets, 3, false, 0, []client.Object{refusedOne}, 2},
		"another's is in the way":               {statefulSets, 3, false, 0, []client.Object{workloadOf(statefulSets, "theirs", 3)}, 3},

		"scale up, before the write":              {statefulSets, 5, false, 3, []client.Object{set(3)}, 3},
		"scale up, after it":                      {statefulSets, 5, false, 3, []client.Object{set(5)}, 3},
		"scale up, refused":                       {statefulSets, 5, false, 3, []client.Object{set(3)}, 3},
		"scale down, before the write":            {statefulSets, 3, false, 5, []client.Object{set(5)}, 3},
		"scale down, after it":                    {statefulSets, 3, false, 5, []client.Object{set(3)}, 3},
		"scale down, refused":                     {statefulSets, 3, false, 3, []client.Object{set(5)}, 3},
		"nothing exists, size 0":                  {statefulSets, 0, false, 0, nil, 0},
		"scale to zero":                           {statefulSets, 0, false, 3, []client.Object{set(3)}, 0},
		"size 0":                                  {statefulSets, 0, false, 0, []client.Object{set(0)}, 0},
		"scale from zero, before the write":       {statefulSets, 3, false, 0, []client.Object{set(0)}, 0},
		"scale from zero, after it":               {statefulSets, 3, false, 0, []client.Object{set(3)}, 3},
		"somebody else scales the StatefulSet up": {statefulSets, 3, false, 3, []client.Object{set(9)}, 3},
		"somebody else scales it down":            {statefulSets, 3, false, 3, []client.Object{set(1)}, 3},
		"somebody else deletes it":                {statefulSets, 3, false, 3, nil, 3},
		"it was deleted, and the size is smaller": {statefulSets, 2, false, 3, nil, 2},

		"a pause":                                     {statefulSets, 3, true, 3, []client.Object{set(3)}, 3},
		"a pause holds back a larger size":            {statefulSets, 5, true, 3, []client.Object{set(3)}, 3},
		"a pause holds back a smaller size":           {statefulSets, 3, true, 5, []client.Object{set(5)}, 5},
		"a pause holds back the first nodes":          {statefulSets, 3, true, 0, nil, 3},
		"a pause, and somebody deletes it":            {statefulSets, 3, true, 3, nil, 3},
		"a pause, and a Deployment that is not there": {deployments, 3, true, 0, nil, none},

		"a Deployment that is not wanted":       {statefulSets, 3, false, 3, []client.Object{deployment(3), set(3)}, 3},
		"another Memcached's Deployment":        {statefulSets, 3, false, 3, []client.Object{workloadOf(deployments, "theirs", 3), set(3)}, 3},
		"a StatefulSet that is not wanted":      {deployments, 3, false, 3, []client.Object{deployment(3), set(3)}, none},
		"a Deployment that somebody deleted":    {deployments, 3, false, 0, nil, none},
		"what the status says is never trusted": {deployments, 3, false, 3, []client.Object{deployment(3)}, none},
	} {
		t.Run(name, func(t *testing.T) {
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache", Namespace: "shop", UID: "ours"}}
			mc.Spec = cachev1alpha1.MemcachedSpec{Size: test.size, Workload: test.workload, Paused: test.paused}
			mc.Status.Servers = make([]string, test.reported)
			got := NewView(mc, Observed{Children: test.children}, time.Time{}).Servers()
			if (got == nil) != (test.want == none) {
				t.Fatalf("the servers are %#v", got)
			}
			var want []string
			for i := range max(test.want, 0) {
				want = append(want, fmt.Sprintf("cache-%d.cache-nodes.shop.svc:11211", i))
			}
			if !slices.Equal(got, want) {
				t.Errorf("the servers are %v, want %v", got, want)
			}
		})
	}
}

// TestServersGrow covers nodes of a larger size: each joins when it and those before it have been ready.
func TestServersGrow(t *testing.T) {
	for ready, want := range map[string]int{"": 3, "3": 4, "4": 3, "34": 5} {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache", Namespace: "shop", UID: "ours"}}
		mc.Spec = cachev1alpha1.MemcachedSpec{Size: 5, Workload: statefulSets}
		mc.Status.Servers = make([]string, 3)
		observed := Observed{Children: []client.Object{workloadOf(statefulSets, "ours", 5)}}
		for _, number := range "34" {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cache-" + string(number)}}
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "cache", Controller: ptr.To(true)}}
			if strings.ContainsRune(ready, number) {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			observed.Pods = append(observed.Pods, pod)
		}
		if got := NewView(mc, observed, time.Time{}).Servers(); len(got) != want {
			t.Errorf("with the nodes %q ready: %v", ready, got)
		}
	}
}

// TestServersHaveOpenPorts checks that the addresses have the client ports that the StatefulSet opens, even while a pause or a
// refusal holds back a change of the ports. If the StatefulSet opens no client port, or does not exist, the spec decides.
func TestServersHaveOpenPorts(t *testing.T) {
	encrypted, both := &cachev1alpha1.MemcachedTLS{}, &cachev1alpha1.MemcachedTLS{Plaintext: cachev1alpha1.PlaintextEnabled}
	for name, test := range map[string]struct {
		tls *cachev1alpha1.MemcachedTLS
		// live are the names of the ports that the StatefulSet opens, nil if there is no StatefulSet.
		live    []string
		servers int32
		tlsToo  bool
	}{
		"without TLS":                         {nil, []string{"memcached"}, 11211, false},
		"with TLS":                            {encrypted, []string{"memcached-tls"}, 11212, true},
		"with TLS and plaintext":              {both, []string{"memcached", "memcached-tls"}, 11211, true},
		"TLS is held back":                    {encrypted, []string{"memcached"}, 11211, false},
		"the end of plaintext is held back":   {encrypted, []string{"memcached", "memcached-tls"}, 11211, true},
		"the end of TLS is held back":         {nil, []string{"memcached-tls"}, 11212, true},
		"nothing runs yet":                    {encrypted, nil, 11212, true},
		"somebody has taken the ports away":   {encrypted, []string{}, 11212, true},
		"somebody has put others beside":      {nil, []string{"memcached", "other"}, 11211, false},
		"nothing runs yet, and there is both": {both, nil, 11211, true},
	} {
		t.Run(name, func(t *testing.T) {
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "cache", Namespace: "shop", UID: "ours"}}
			mc.Spec = cachev1alpha1.MemcachedSpec{Size: 1, Workload: statefulSets, TLS: test.tls}
			var observed Observed
			if test.live != nil {
				set := workloadOf(statefulSets, "ours", 1).(*appsv1.StatefulSet)
				container := corev1.Container{Name: ContainerName}
				for _, port := range test.live {
					container.Ports = append(container.Ports, corev1.ContainerPort{Name: port, ContainerPort: 1})
				}
				set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "injected", Ports: []corev1.ContainerPort{{Name: "memcached-tls"}}}, container}
				observed.Children = []client.Object{set}
			}
			view := NewView(mc, observed, time.Time{})
			if got, want := view.Servers(), fmt.Sprintf("cache-0.cache-nodes.shop.svc:%d", test.servers); !slices.Equal(got, []string{want}) {
				t.Errorf("the servers are %v, want %s", got, want)
			}
			if got := view.ServerPort(); got != int(test.servers) {
				t.Errorf("their port is %d", got)
			}
			var want []string
			if test.tlsToo {
				want = []string{"cache-0.cache-nodes.shop.svc:11212"}
			}
			if got := view.TLSServers(); !slices.Equal(got, want) {
				t.Errorf("those with TLS are %v, want %v", got, want)
			}
		})
	}
}

func TestCertificateHosts(t *testing.T) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cache-0"}}
	if got := CertificateHosts(mc, pod); got != nil {
		t.Errorf("without TLS: %v", got)
	}
	mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{}
	if got := CertificateHosts(mc, pod); !slices.Equal(got, []string{"cache-nodes.shop.svc", "cache-0.cache-nodes.shop.svc"}) {
		t.Errorf("with TLS: %v", got)
	}
	mc.Spec.Workload, mc.Spec.Proxy = cachev1alpha1.WorkloadStatefulSet, &cachev1alpha1.MemcachedProxy{}
	if got := CertificateHosts(mc, pod); !slices.Equal(got, []string{"cache.shop.svc"}) {
		t.Errorf("with TLS, behind proxies: %v", got)
	}
}

// If the port without TLS is open, the address has that port, so that clients without TLS can still use the address.
func TestAddress(t *testing.T) {
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache"}}
	mc.Spec.Workload = cachev1alpha1.WorkloadStatefulSet
	if got := Address(mc); got != "" {
		t.Errorf("without proxies: %s", got)
	}
	mc.Spec.Proxy = &cachev1alpha1.MemcachedProxy{}
	if got := Address(mc); got != "cache.shop.svc:11211" {
		t.Errorf("without TLS: %s", got)
	}
	for plaintext, want := range map[cachev1alpha1.PlaintextMode]string{
		"": "cache.shop.svc:11212", cachev1alpha1.PlaintextDisabled: "cache.shop.svc:11212", cachev1alpha1.PlaintextEnabled: "cache.shop.svc:11211",
	} {
		mc.Spec.TLS = &cachev1alpha1.MemcachedTLS{Plaintext: plaintext}
		if got := Address(mc); got != want {
			t.Errorf("plaintext %s: %s", plaintext, got)
		}
	}
}
