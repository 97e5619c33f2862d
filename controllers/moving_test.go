// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/testenv"
)

// moment holds all objects that exist at one time.
type moment []client.Object

// All servers share the scheme and the mapper, because creating them takes long.
var (
	movingScheme = testenv.Scheme()
	movingMapper = testrestmapper.TestOnlyStaticRESTMapper(movingScheme)
)

// server returns a fake API server that holds only the objects of the moment.
func (m moment) server() client.WithWatch {
	objects := make([]client.Object, len(m))
	for i, object := range m {
		objects[i] = object.DeepCopyObject().(client.Object)
	}
	return fake.NewClientBuilder().WithScheme(movingScheme).WithRESTMapper(movingMapper).WithObjects(objects...).
		WithStatusSubresource(&cachev1alpha1.Memcached{}).
		WithIndex(&cachev1alpha1.Memcached{}, "metadata.name", func(mc client.Object) []string { return []string{mc.GetName()} }).
		WithIndex(&cachev1alpha1.Memcached{}, FillFromIndex, func(client.Object) []string { return nil }).
		WithIndex(&corev1.Pod{}, InstanceIndex, func(pod client.Object) []string { return []string{instanceOf(pod).Name} }).
		Build()
}

// momentOf returns all objects of a server.
func momentOf(t *testing.T, server client.Client) moment {
	t.Helper()
	var now moment
	lists := []client.ObjectList{
		&cachev1alpha1.MemcachedList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.PodList{},
		&corev1.ServiceList{}, &corev1.ConfigMapList{}, &policyv1.PodDisruptionBudgetList{},
	}
	for _, list := range lists {
		must(t, server.List(t.Context(), list))
		must(t, meta.EachListItem(list, func(object runtime.Object) error {
			now = append(now, object.(client.Object))
			return nil
		}))
	}
	return now
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// process returns the Reconciler of a new process, which reads from this cache.
func process(server client.WithWatch, clock clock.PassiveClock, cache func() client.Reader) *Reconciler {
	return NewReconciler(interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
			return cache().Get(ctx, key, object)
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return cache().List(ctx, list, opts...)
		},
		Patch: applyTo,
	}), server, events.NewFakeRecorder(1000), metrics.New(prometheus.NewRegistry()), clock,
		memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"})
}

// applyTo imitates the parts of a server-side apply that matter here. It sets UIDs and generations, because the fake server does not.
func applyTo(ctx context.Context, server client.WithWatch, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	text, err := patch.Data(object)
	if err != nil {
		return err
	}
	var sent metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &sent); err != nil {
		return err
	}
	err = server.Get(ctx, client.ObjectKeyFromObject(object), object)
	exists := err == nil
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	before := object.DeepCopyObject().(client.Object)
	if exists && sent.ResourceVersion != "" || sent.UID != before.GetUID() && sent.UID != "" {
		return apierrors.NewConflict(schema.GroupResource{}, object.GetName(), errors.New("it is another one"))
	}
	if err := json.Unmarshal(text, object); err != nil {
		return err
	}
	object.SetResourceVersion(before.GetResourceVersion())
	if !exists {
		object.SetUID(types.UID(fmt.Sprintf("%T", object)))
		object.SetGeneration(1)
		return server.Create(ctx, object)
	}
	child, _ := memcached.ChildOf(object)
	if !equality.Semantic.DeepEqual(child.Spec(before), child.Spec(object)) ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), object.GetAnnotations()) {
		object.SetGeneration(before.GetGeneration() + 1)
	}
	return server.Update(ctx, object)
}

// moving is an API server with one Memcached, an operator, and the controllers of Deployments and StatefulSets.
type moving struct {
	*testing.T

	server   client.WithWatch
	operator *Reconciler
	clock    *clocktesting.FakePassiveClock
	// moments are all states of the server so far, one after another.
	moments []moment
}

var movingName = types.NamespacedName{Namespace: "shop", Name: "cache"}

// newMoving returns a moving with a Memcached whose Deployment has two ready nodes.
func newMoving(t *testing.T) *moving {
	t.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: movingName.Namespace, Name: movingName.Name, UID: "memcached", Generation: 1},
		Spec:       cachev1alpha1.MemcachedSpec{Size: 2},
	}
	m := &moving{T: t, server: moment{mc}.server(), clock: clocktesting.NewFakePassiveClock(time.Now())}
	m.operator = process(m.server, m.clock, func() client.Reader { return m.server })
	for m.step() {
		continue
	}
	return m
}

// record adds what exists now to the moments, and reports whether anything has changed.
func (m *moving) record() bool {
	m.Helper()
	now := momentOf(m.T, m.server)
	if len(m.moments) > 0 && equality.Semantic.DeepEqual(m.moments[len(m.moments)-1], now) {
		return false
	}
	m.moments = append(m.moments, now)
	return true
}

// step lets the operator and the controllers of both workloads act once.
func (m *moving) step() (changed bool) {
	m.Helper()
	m.clock.SetTime(m.clock.Now().Add(progressStatusInterval))
	_, err := m.operator.Reconcile(m.Context(), reconcile.Request{NamespacedName: movingName})
	must(m.T, err)
	changed = m.record()
	for _, kind := range []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		m.act(kind)
		changed = m.record() || changed
	}
	return changed
}

// until calls step again and again. It stops when the function reached returns true for the sizes of the workloads.
func (m *moving) until(reached func(sizes) bool) {
	m.Helper()
	for range 50 {
		m.step()
		if reached(m.moments[len(m.moments)-1].sizes()) {
			return
		}
	}
	m.Fatalf("after 50 steps, the sizes are %+v", m.moments[len(m.moments)-1].sizes())
}

func (m *moving) moveTo(kind cachev1alpha1.WorkloadKind) {
	m.Helper()
	mc := &cachev1alpha1.Memcached{}
	must(m.T, m.server.Get(m.Context(), movingName, mc))
	mc.Spec.Workload = kind
	mc.Generation++
	must(m.T, m.server.Update(m.Context(), mc))
	m.record()
}

// act lets the controller of a workload take one step.
func (m *moving) act(workload client.Object) {
	m.Helper()
	err := m.server.Get(m.Context(), movingName, workload)
	if apierrors.IsNotFound(err) {
		return
	}
	must(m.T, err)
	nodes, size := m.nodesOf(workload), int(*sizeOf(workload))
	starting := slices.IndexFunc(nodes, func(pod corev1.Pod) bool { return !memcached.PodReady(&pod) })
	switch {
	case len(nodes) > size:
		for i := range nodes[size:] {
			must(m.T, m.server.Delete(m.Context(), &nodes[size+i]))
		}
	case len(nodes) < size:
		for i := len(nodes); i < size; i++ {
			must(m.T, m.server.Create(m.Context(), nodeOf(workload, i)))
		}
	case starting >= 0:
		nodes[starting].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		must(m.T, m.server.Status().Update(m.Context(), &nodes[starting]))
	}
	m.report(workload)
}

func (m *moving) report(workload client.Object) {
	m.Helper()
	nodes, ready := m.nodesOf(workload), int32(0)
	for i := range nodes {
		if memcached.PodReady(&nodes[i]) {
			ready++
		}
	}
	before, replicas, generation := workload.DeepCopyObject(), int32(len(nodes)), workload.GetGeneration()
	switch w := workload.(type) {
	case *appsv1.Deployment:
		w.Status = appsv1.DeploymentStatus{
			ObservedGeneration: generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: ready, AvailableReplicas: ready,
		}
	case *appsv1.StatefulSet:
		w.Status = appsv1.StatefulSetStatus{
			ObservedGeneration: generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: ready, AvailableReplicas: ready,
		}
	}
	if !equality.Semantic.DeepEqual(before, workload) {
		must(m.T, m.server.Status().Update(m.Context(), workload))
	}
}

func (m *moving) nodesOf(workload client.Object) []corev1.Pod {
	m.Helper()
	var pods corev1.PodList
	must(m.T, m.server.List(m.Context(), &pods))
	owner := nodeOf(workload, 0).OwnerReferences[0].Kind
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.OwnerReferences[0].Kind != owner })
}

func nodeOf(workload client.Object, number int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("cache-5d4f-%d", number), Namespace: "shop",
			Labels: map[string]string{memcached.InstanceLabel: "cache", appsv1.DefaultDeploymentUniqueLabelKey: "5d4f"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "cache-5d4f", UID: "1", Controller: ptr.To(true),
			}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}},
	}
	if _, ok := workload.(*appsv1.StatefulSet); ok {
		pod.Name = fmt.Sprintf("cache-%d", number)
		pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name = "StatefulSet", workload.GetName()
	}
	return pod
}

func sizeOf(workload client.Object) *int32 {
	if set, ok := workload.(*appsv1.StatefulSet); ok {
		return set.Spec.Replicas
	}
	return workload.(*appsv1.Deployment).Spec.Replicas
}
