// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcachedproxy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

func deployment(v View) *appsv1.Deployment {
	for _, object := range v.Children {
		if d, ok := object.(*appsv1.Deployment); ok {
			return d
		}
	}
	return nil
}

func TestConditions(t *testing.T) {
	unready := func(v *View) {
		v.Pods[0].Status.Conditions[0].Status = corev1.ConditionFalse
	}
	misses := func(v *View) {
		v.Pods[0].UID = "cut off"
		v.Answers = map[types.UID]Answer{v.Pods[0].UID: {Status: protocol.ProxyStatus{Missed: "all"}}}
	}
	for _, row := range []struct {
		name    string
		change  func(*View)
		written memcached.Written
		// want is the status and the reason of Ready, Available, Progressing and Degraded.
		want string
		// message is part of the message of Ready.
		message string
	}{
		{
			name: "all is well", want: "True/AllProxiesReady True/AsExpected False/AsExpected False/AsExpected", message: "All 2 proxies are ready",
		},
		{
			name: "created", change: func(v *View) { v.Pods = nil; deployment(*v).Status = appsv1.DeploymentStatus{} },
			want: "False/Creating Unknown/Creating True/Creating False/AsExpected", message: "Starting 2 proxies",
		},
		{
			name: "starting", change: func(v *View) {
				unready(v)
				d := deployment(*v)
				d.Annotations["deployment.kubernetes.io/revision"], d.Status.Conditions, d.Status.ReadyReplicas = "1", nil, 1
			},
			want: "False/Creating True/AsExpected True/Creating False/AsExpected", message: "1 of 2 proxies are started",
		},
		{
			name: "scaling", change: func(v *View) { v.Proxy.Spec.Size = ptr.To(int32(4)); deployment(*v).Generation = 2 },
			want: "False/Scaling True/AsExpected True/Scaling False/AsExpected", message: "Scaling from 2 to 4 proxies",
		},
		{
			name: "a rollout", change: func(v *View) {
				d := deployment(*v)
				d.Status.Conditions, d.Status.UpdatedReplicas, d.Status.Replicas = nil, 1, 3
			},
			want: "False/RollingOut True/AsExpected True/RollingOut False/AsExpected", message: "1 of 2 proxies are updated",
		},
		{
			name: "a rollout that hangs", change: func(v *View) {
				d := deployment(*v)
				d.Status.UpdatedReplicas, d.Status.Replicas = 1, 3
				d.Status.Conditions = []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentProgressing, Reason: "ProgressDeadlineExceeded", Message: "has timed out progressing",
				}}
			},
			want: "False/Stuck True/AsExpected False/Stuck False/AsExpected", message: "has timed out progressing",
		},
		{
			name: "one proxy is away", change: unready,
			want: "False/NotReady True/AsExpected False/AsExpected False/AsExpected", message: "1 of 2 proxies are ready",
		},
		{
			name: "a proxy misses a node", change: misses,
			want:    "False/NotReady True/AsExpected False/AsExpected False/AsExpected",
			message: "2 of 2 proxies are ready; front-1-0 misses all",
		},
		{
			name: "it misses them from its start", change: func(v *View) {
				misses(v)
				unready(v)
				d := deployment(*v)
				d.Annotations["deployment.kubernetes.io/revision"], d.Status.Conditions, d.Status.ReadyReplicas = "1", nil, 1
			},
			want:    "False/Creating True/AsExpected True/Creating False/AsExpected",
			message: "1 of 2 proxies are started; front-1-0 misses all",
		},
		{
			name: "it has waited for DNS for a minute", change: func(v *View) {
				misses(v)
				unready(v)
				running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-time.Hour))}}
				v.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: memcached.ContainerName, State: running}}
				v.Pods[0].Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: memcached.AgentContainerName, State: running}}
			},
			want: "False/NodesUnresponsive True/AsExpected False/AsExpected True/NodesUnresponsive", message: "front-1-0 misses all",
		},
		{
			name: "no room for a proxy", change: func(v *View) {
				unready(v)
				v.Pods[0].Status.Conditions = append(v.Pods[0].Status.Conditions, corev1.PodCondition{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "3 Insufficient memory.",
				})
			},
			want:    "False/Unschedulable True/AsExpected False/AsExpected True/Unschedulable",
			message: "Lower spec.resources or spec.config.maxConnections, or add cluster nodes",
		},
		{
			name: "all are", change: func(v *View) { v.Pods = nil },
			want: "False/NotReady False/NotReady False/AsExpected False/AsExpected",
		},
		{
			name: "no Service", change: func(v *View) { v.Children = v.Children[1:] },
			want: "True/AllProxiesReady False/NotReady False/AsExpected False/AsExpected",
		},
		{
			name: "routes are announced", change: func(v *View) { v.Pool = sessions(4); *v = view(*v, For(*v, options)) },
			want:    "False/RollingOut True/AsExpected True/RollingOut False/AsExpected",
			message: "From 10:02:00 UTC on, all proxies lead to 4 nodes instead of 3",
		},
		{
			name: "copies of different sizes", change: func(v *View) {
				v.Copies = []*cachev1alpha1.Memcached{copyOf("twins", 4)}
				copied(v.Proxy)
				*v = view(*v, For(*v, options))
			},
			want: "False/Scaling True/AsExpected True/Scaling False/AsExpected",
			message: "Copies must have the same number of nodes, but sessions has 3, twins has 4: proxies use the smallest number above 0 until " +
				"spec.size of all is the same",
		},
		{
			name: "copies of one size", change: func(v *View) {
				v.Copies = []*cachev1alpha1.Memcached{copyOf("twins", 3)}
				copied(v.Proxy)
				*v = view(*v, For(*v, options))
			},
			want:    "True/AllProxiesReady True/AsExpected False/AsExpected False/AsExpected",
			message: "All 2 proxies are ready; empty nodes of sessions and twins get new writes only: set spec.fillFrom there",
		},
		{
			name: "the pool is gone", written: memcached.Written{Problem: &memcached.Problem{Reason: "InvalidReference", Message: "It is gone"}},
			want: "False/InvalidReference True/AsExpected False/Stuck True/InvalidReference", message: "It is gone",
		},
		{
			name: "an image is wrong", change: func(v *View) {
				unready(v)
				v.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
					Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"},
				}}}
			},
			want: "False/ImagePullFailed True/AsExpected False/AsExpected True/ImagePullFailed", message: "no such image",
		},
		{
			name: "deleted", change: func(v *View) { v.Proxy.DeletionTimestamp = ptr.To(metav1.NewTime(now)) },
			want: "False/WaitingForDeletion True/AsExpected True/WaitingForDeletion False/AsExpected",
		},
		{
			name: "a Service that is being deleted", written: memcached.Written{Waiting: "Service front is being deleted"},
			want: "False/WaitingForDeletion True/AsExpected True/WaitingForDeletion False/AsExpected",
		},
	} {
		v := live(t, View{Proxy: front(), Pool: sessions(3), Now: now}, options)
		if row.change != nil {
			row.change(&v)
		}
		status := StatusFor(v, For(v, options), row.written)
		var got []string
		for _, condition := range status.Conditions[:4] {
			got = append(got, string(condition.Status)+"/"+condition.Reason)
			if condition.ObservedGeneration != 3 || !condition.LastTransitionTime.Time.Equal(now) {
				t.Errorf("%s: %+v", row.name, condition)
			}
		}
		if strings.Join(got, " ") != row.want || !strings.Contains(status.Conditions[0].Message, row.message) {
			t.Errorf("%s: %s, not %s: %s", row.name, strings.Join(got, " "), row.want, status.Conditions[0].Message)
		}
		kstatus := ""
		for _, condition := range status.Conditions[4:] {
			kstatus += condition.Type
		}
		if ready := status.Conditions[0].Status == metav1.ConditionTrue; ready != (kstatus == "") {
			t.Errorf("%s: %q for kstatus", row.name, kstatus)
		}
	}
}

// view returns the view after the plan's ConfigMap was written.
func view(v View, plan Plan) View {
	for _, object := range plan.Objects {
		if routes, ok := object.(*corev1.ConfigMap); ok {
			routes.OwnerReferences = []metav1.OwnerReference{{UID: v.Proxy.UID, Controller: ptr.To(true)}}
			v.Children = memcached.Written{Objects: []client.Object{routes}}.Over(v.Children)
		}
	}
	return v
}

func TestStatusFields(t *testing.T) {
	v := live(t, View{Proxy: front(), Pool: sessions(3), Now: now}, options)
	v.Pool = sessions(4)
	v = view(v, For(v, options))
	got := StatusFor(v, For(v, options), memcached.Written{})
	got.Conditions = nil
	want := cachev1alpha1.MemcachedProxyStatus{
		ObservedGeneration: 3, Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, Image: "memcached:1.6.45", Address: "front.shop.svc:11211",
		Selector: "app.kubernetes.io/instance=front,app.kubernetes.io/managed-by=memcached-operator,app.kubernetes.io/name=memcached-proxy",
		Routes: &cachev1alpha1.MemcachedProxyRoutes{
			Nodes: 3, Next: ptr.To(int32(4)), From: ptr.To(metav1.NewTime(now.Add(2 * time.Minute))), Proxies: ptr.To(int32(0)),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	v.Now = now.Add(2 * time.Minute)
	if routes := StatusFor(v, For(v, options), memcached.Written{}).Routes; routes.Nodes != 4 || routes.Next != nil || routes.From != nil {
		t.Errorf("when they hold, the routes are %+v", routes)
	}
	if text := v.ConfigMap().Data[protocol.RoutesKey]; !strings.HasSuffix(text, " 3 next 4 2026-11-24T10:02:00Z\n") {
		t.Errorf("the ConfigMap has %q", text)
	}
}
