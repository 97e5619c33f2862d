// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// The names of the Memcached in each namespace, and of some of its children.
const (
	cacheName  = "cache"
	nodesName  = cacheName + "-nodes"
	proxyName  = cacheName + "-proxy"
	routesName = cacheName + "-routes"
)

// convergenceTimeout is how long a run of a scenario may take. It exceeds the operator's longest backoff.
const convergenceTimeout = 120 * time.Second

var defaults = memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"}

// scenario is a sequence of actions of users.
type scenario struct {
	name string
	// setup creates the initial state, without faults.
	setup func(r *run)
	// act is what users do.
	act func(r *run)
	// done checks the final state, in addition to what all scenarios check.
	done check
	// restores means that the final state is the initial one, and keepsPods that no pod may be replaced.
	restores, keepsPods bool
}

// deletion is the name of the scenario that ends without a Memcached.
const deletion = "delete"

var scenarios = []scenario{
	{name: "create", act: creates(2)},
	{name: "scale-up", setup: ready(1), act: changes(withSize(3))},
	{name: "scale-down", setup: ready(3), act: changes(withSize(1))},
	{name: "image-change", setup: ready(2), act: changes(withNewImage, moreMemory, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Service.Annotations = map[string]cachev1alpha1.AnnotationValue{"note": "new"}
		spec.PodDisruptionBudget.MaxUnavailable = ptr.To(intstr.FromInt32(2))
	})},
	{name: "optional-children", setup: ready(1), act: func(r *run) {
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.NetworkPolicy = &cachev1alpha1.MemcachedNetworkPolicy{} })
		oneRule := func(now objects) string {
			p := get[*networkingv1.NetworkPolicy](now, "networkpolicies/"+cacheName)
			return unless(p != nil && len(p.Spec.Ingress) == 1, "the policy is %+v", p)
		}
		r.await("the NetworkPolicy exists", oneRule)
		edit(r, &networkingv1.NetworkPolicy{}, func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
		})
		r.await("the way in that somebody opened is closed", oneRule)
		r.changeSpec(func(spec *cachev1alpha1.MemcachedSpec) {
			spec.NetworkPolicy, spec.PodDisruptionBudget.Enabled = nil, ptr.To(false)
		})
	}},
	{name: "child-deleted", restores: true, setup: ready(1), act: func(r *run) {
		r.remove(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: nodesName}})
		r.remove(&policyv1.PodDisruptionBudget{})
		r.remove(&appsv1.Deployment{})
	}},
	{name: "child-edited", restores: true, setup: ready(1), act: func(r *run) {
		edit(r, &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = ptr.To(int32(60)) })
		edit(r, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: nodesName}}, func(s *corev1.Service) {
			s.Spec.PublishNotReadyAddresses = true
			delete(s.Labels, memcached.ManagedByLabel)
		})
		edit(r, &policyv1.PodDisruptionBudget{}, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.IfHealthyBudget)
		})
	}},
	{name: "pause-and-resume", setup: ready(1), act: func(r *run) {
		r.changeSpec(paused(true))
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.changeSpec(withSize(2))
		r.awaitReason(cachev1alpha1.ConditionReady, cachev1alpha1.ReasonPaused)
		r.changeSpec(paused(false))
	}},
	{name: deletion, setup: ready(1), act: func(r *run) { r.remove(&cachev1alpha1.Memcached{}) }, done: gone(cacheName)},
	{name: "recreate", setup: ready(2), act: func(r *run) {
		r.remove(&cachev1alpha1.Memcached{})
		r.createCache(1)
	}},
	{name: "conflict", act: func(r *run) {
		service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		service.Name = nodesName
		r.create(service)
		r.createCache(1)
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonConflict)
		r.wire.step.Add(1)
		r.remove(service)
	}},

	{name: "statefulset-create", act: creates(2, statefulSetNodes)},
	{name: "statefulset-scale-up", setup: ready(1, statefulSetNodes), act: changes(withSize(3))},
	{name: "statefulset-scale-down", setup: ready(3, statefulSetNodes), act: changes(withSize(1))},
	{name: "new-template", setup: ready(2, statefulSetNodes), act: changes(withNewImage, moreMemory, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "new"}
		spec.UpdateStrategy.MinReadySeconds = 1
	})},
	{name: "arguments-in-place", keepsPods: true, setup: ready(3, statefulSetNodes, inFiles), act: changes(withThreads(3))},
	{name: "arguments-refused", keepsPods: true, setup: ready(2, statefulSetNodes, inFiles), act: func(r *run) {
		r.changeSpec(withThreads(refusedThreads))
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonChangeRefused)
		r.wire.step.Add(1)
		r.changeSpec(withThreads(5))
	}},
	{name: "image-and-memory-in-place", keepsPods: true, setup: ready(2, podsChange), act: changes(withNewImage, moreMemory)},
	{name: "image-refused", keepsPods: true, setup: ready(2, podsChange), act: func(r *run) {
		r.changeSpec(withImage(missingImage))
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonImagePullFailed)
		r.await("the former image", func(now objects) string {
			return unless(!slices.Contains(slices.Collect(maps.Values(now.members())), false), "a node is away")
		})
		r.wire.step.Add(1)
		r.changeSpec(withNewImage)
	}},
	{name: "size-during-change", setup: ready(2, podsChange), act: func(r *run) {
		r.stopHalfWay()
		r.changeSpec(withSize(3))
		r.await("the new node", func(now objects) string {
			pod := get[*corev1.Pod](now, "pods/"+cacheName+"-2")
			return unless(podReady(pod) && pod.Spec.Containers[0].Image != unreadyImage, "it is %v", pod)
		})
		r.wire.step.Add(1)
		r.changeSpec(withNewImage)
	}},
	{name: "paused-half-way", setup: ready(2, statefulSetNodes), act: func(r *run) {
		r.stopHalfWay()
		r.changeSpec(paused(true))
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.changeSpec(withNewImage)
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.wire.step.Add(1)
		r.changeSpec(paused(false))
	}},
	{name: "statefulset-edited-and-deleted", restores: true, setup: ready(1, statefulSetNodes), act: func(r *run) {
		edit(r, &appsv1.StatefulSet{}, func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		})
		r.await("the update strategy is back", r.restored)
		servers := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: cacheName + memcached.ServersSuffix}}
		edit(r, servers, func(c *corev1.ConfigMap) { c.Data["note"] = "theirs" })
		r.await("the note is gone", r.restored)
		r.remove(servers)
		r.remove(&appsv1.StatefulSet{})
	}},
	{name: "host-lost", setup: ready(2, statefulSetNodes), act: func(r *run) { r.loseHostOf(cacheName + "-1") }},

	{name: "copies-create", act: creates(2, twoCopies)},
	{name: "copies-image-change", setup: ready(2, twoCopies), act: changes(withNewImage)},
	{name: "copies-scale", setup: ready(2, twoCopies), act: func(r *run) {
		for _, size := range []int32{3, 1} {
			r.changeSpec(withSize(size))
			r.await("the announcement", func(now objects) string {
				config := get[*corev1.ConfigMap](now, "configmaps/"+routesName)
				return unless(config != nil && strings.Contains(config.Data["routes"], fmt.Sprintf(" next %d ", size)), "the routes are %v", config)
			})
			r.ahead.Add(int64(2*time.Minute + time.Second)) // the announced routes take effect
			r.note()
			r.await("the new routes", r.settled)
			r.wire.step.Add(1)
		}
	}},
	{name: "proxies-leave", setup: ready(2, statefulSetNodes, withProxies), act: changes(func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Proxy = nil
	}), done: gone(proxyName)},
}

// gone checks that there are no objects whose names begin with this one.
func gone(name string) check {
	return func(now objects) string {
		for key := range now {
			if strings.Contains(key, "/"+name) {
				return key + " exists"
			}
		}
		return ""
	}
}

// unless returns "" if the condition holds, and else what is wrong.
func unless(holds bool, format string, args ...any) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// creates and changes return acts; ready returns a setup.
func creates(size int32, all ...change) func(*run) {
	return func(r *run) { r.createCache(size, all...) }
}

func changes(all ...change) func(*run) { return func(r *run) { r.changeSpec(all...) } }

func ready(size int32, all ...change) func(*run) {
	return func(r *run) {
		r.createCache(size, all...)
		r.await("set up", r.settled)
	}
}

func withSize(size int32) change { return func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = size } }

func withImage(image string) change {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.Image = image }
}

func withNewImage(spec *cachev1alpha1.MemcachedSpec) { spec.Image = "memcached:1.6.46" }

func withThreads(threads int32) change {
	return func(spec *cachev1alpha1.MemcachedSpec) { spec.Config.Threads = threads }
}

func moreMemory(spec *cachev1alpha1.MemcachedSpec) {
	spec.Config.Memory = ptr.To(resource.MustParse("128Mi"))
}

func paused(is bool) change { return func(spec *cachev1alpha1.MemcachedSpec) { spec.Paused = is } }

func statefulSetNodes(spec *cachev1alpha1.MemcachedSpec) {
	spec.Workload = cachev1alpha1.WorkloadStatefulSet
}

func withProxies(spec *cachev1alpha1.MemcachedSpec) { spec.Proxy = &cachev1alpha1.MemcachedProxy{} }

func twoCopies(spec *cachev1alpha1.MemcachedSpec) {
	statefulSetNodes(spec)
	spec.Copies = 2
}

// podsChange allows changes of pods.
func podsChange(spec *cachev1alpha1.MemcachedSpec) {
	statefulSetNodes(spec)
	spec.UpdateStrategy.PodUpdatePolicy = cachev1alpha1.PodUpdateInPlaceOrRecreate
}

// inFiles makes memcached store items in files, so that they survive its restarts.
func inFiles(spec *cachev1alpha1.MemcachedSpec) {
	moreMemory(spec)
	spec.Storage.Type = cachev1alpha1.StorageMemoryFile
}

// stopHalfWay changes the image to one with which the last node does not become ready, and waits until this node has it.
func (r *run) stopHalfWay() {
	r.Helper()
	r.changeSpec(withImage(unreadyImage))
	r.await("the last node has the image", func(now objects) string {
		last := get[*corev1.Pod](now, fmt.Sprintf("pods/%s-%d", cacheName, now.cache().Spec.Size-1))
		return unless(last != nil && !podReady(last) && last.Spec.Containers[0].Image == unreadyImage, "it is %v", last)
	})
	r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonRollingOut)
	r.wire.step.Add(1)
}

// loseHostOf evicts a pod like the taint manager does when a cluster node stops reporting. The pod stays terminating, because no
// kubelet completes its deletion.
func (r *run) loseHostOf(name string) {
	r.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.read(pod)
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
	})
	r.must(user.Status().Update(r.ctx, pod))
	r.remove(pod, client.GracePeriodSeconds(1))
}

// theirs is the name of objects of somebody else that have the labels of the operator's objects. noted is one that changes.
const theirs, noted = "theirs", "noted"

func foreignObjects() []client.Object {
	metadata := metav1.ObjectMeta{Name: theirs, Labels: map[string]string{
		memcached.ManagedByLabel: memcached.ManagedBy, memcached.InstanceLabel: cacheName,
	}}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: noted, Labels: metadata.Labels}},
		&corev1.Service{ObjectMeta: metadata, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metadata},
		&corev1.Pod{ObjectMeta: metadata, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: theirs, Image: theirs}}}},
	}
}

// run is one run of a scenario: a namespace in which a user and a simulated cluster act, with its own operator.
type run struct {
	*testing.T

	ctx       context.Context //nolint:containedctx // the run's own context
	cancel    context.CancelFunc
	namespace string
	wire      *wire
	history   *history
	// acted is closed when the cluster no longer acts.
	acted chan struct{}
	// noticed maps the UID and generation of a pod to the time when the kubelet first saw the new image of this generation.
	noticed sync.Map
	// ahead is how far the API server's clock is ahead of the real time.
	ahead atomic.Int64

	processMutex sync.Mutex
	processes    map[types.UID]process

	mutex    sync.Mutex
	operator *operator
}

var namespaces atomic.Int32

// newRun creates a namespace with objects of others, and starts an operator for it.
func newRun(t *testing.T) *run {
	t.Helper()
	r := &run{
		T: t, namespace: fmt.Sprintf("run-%d", namespaces.Add(1)), history: &history{changed: make(chan struct{})},
		wire: &wire{injected: make(chan error, 1)}, acted: make(chan struct{}), processes: map[types.UID]process{},
	}
	r.ctx, r.cancel = context.WithTimeoutCause(t.Context(), convergenceTimeout, errors.New("it did not converge"))
	histories.Store(r.namespace, r.history)
	r.must(user.Create(r.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}))
	for _, object := range foreignObjects() {
		r.create(object)
	}
	r.wire.restart = r.restart
	go r.act()
	r.must(r.startOperator())
	return r
}

// end stops the operator and the cluster, and deletes the objects of the scenario, because existing objects slow down later runs.
func (r *run) end() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := r.operator.stop(); err != nil {
		r.Errorf("stop the operator: %v", err)
	}
	r.cancel()
	<-r.acted
	histories.Delete(r.namespace)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, object := range kinds {
		if err := user.DeleteAllOf(ctx, object, client.InNamespace(r.namespace), client.GracePeriodSeconds(0)); err != nil {
			r.Errorf("clean up: %v", err)
		}
	}
}

func (r *run) restart() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := r.operator.stop(); err != nil {
		return err
	}
	return r.startOperator()
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// await waits until the check finds nothing missing. The first argument describes the wait in the error.
func (r *run) await(what string, check check) {
	r.Helper()
	if err := r.history.await(r.ctx, check); err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

// awaitWrite waits until the history contains this version of the object, or a later one.
func (r *run) awaitWrite(object client.Object) {
	r.Helper()
	r.await("the write of the user", func(objects) string {
		entries, _ := r.history.all()
		return unless(slices.ContainsFunc(entries, func(e entry) bool {
			return e.object.GetUID() == object.GetUID() && e.version() >= entry{object: object}.version()
		}), "it is not in the history")
	})
}

func (r *run) create(object client.Object) {
	r.Helper()
	object.SetNamespace(r.namespace)
	r.must(user.Create(r.ctx, object))
	r.awaitWrite(object)
}

// createCache creates the Memcached with this size, after applying the changes to its spec.
func (r *run) createCache(size int32, changes ...change) {
	r.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: cacheName}, Spec: cachev1alpha1.MemcachedSpec{Size: size}}
	for _, change := range changes {
		change(&mc.Spec)
	}
	r.create(mc)
}

func (r *run) read(object client.Object) {
	r.Helper()
	r.must(user.Get(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: cmp.Or(object.GetName(), cacheName)}, object))
}

// remove deletes an object, which has the name of the Memcached if it has none.
func (r *run) remove(object client.Object, opts ...client.DeleteOption) {
	r.Helper()
	r.read(object)
	r.must(user.Delete(r.ctx, object, opts...))
	r.await("the deletion by the user", func(now objects) string {
		left := now[resourceOf(object)+"/"+object.GetName()]
		return unless(left == nil || left.GetUID() != object.GetUID() || left.GetDeletionTimestamp() != nil, "%v is there", left)
	})
}

// edit changes an object as a user would. It has the name of the Memcached if it has none.
func edit[T client.Object](r *run, object T, change func(T)) {
	r.Helper()
	r.read(object)
	before := object.DeepCopyObject().(client.Object)
	change(object)
	r.must(user.Patch(r.ctx, object, client.MergeFrom(before), client.FieldOwner("user")))
	r.awaitWrite(object)
}

// change is a change of a spec.
type change = func(*cachev1alpha1.MemcachedSpec)

func (r *run) changeSpec(changes ...change) {
	r.Helper()
	edit(r, &cachev1alpha1.Memcached{}, func(mc *cachev1alpha1.Memcached) {
		for _, change := range changes {
			change(&mc.Spec)
		}
	})
}

func (r *run) awaitReason(condition, reason string) {
	r.Helper()
	r.await(condition+" is "+reason, func(now objects) string {
		mc := now.cache()
		c := meta.FindStatusCondition(mc.Status.Conditions, condition)
		return unless(c != nil && c.Reason == reason && mc.Status.ObservedGeneration == mc.Generation, "it is %+v", c)
	})
}

// note changes an object of others, which triggers a reconciliation of the Memcached, also if that is gone.
func (r *run) note() {
	r.Helper()
	edit(r, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: noted}}, func(c *corev1.ConfigMap) { c.Labels[noted] = c.ResourceVersion })
}
