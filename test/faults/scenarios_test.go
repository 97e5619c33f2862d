// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"fmt"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

// scenario is a sequence of actions of users.
type scenario struct {
	name string
	// setup creates the initial state, without faults.
	setup func(r *run)
	// act is what users do.
	act func(r *run)
	// done checks the final state, in addition to what all scenarios check.
	done check
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
	}, done: func(now objects) string {
		budget, policy := now["poddisruptionbudgets/"+cacheName], now["networkpolicies/"+cacheName]
		return unless(budget == nil && policy == nil, "there are %v and %v", budget, policy)
	}},
	{name: "child-deleted", setup: ready(1), act: func(r *run) {
		r.remove(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: nodesName}})
		r.remove(&policyv1.PodDisruptionBudget{})
		r.remove(&appsv1.Deployment{})
	}, done: hasAll},
	{name: "child-edited", setup: ready(1), act: func(r *run) {
		edit(r, &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = ptr.To(int32(60)) })
		edit(r, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: nodesName}}, func(s *corev1.Service) {
			s.Spec.PublishNotReadyAddresses = true
			delete(s.Labels, memcached.ManagedByLabel)
		})
		edit(r, &policyv1.PodDisruptionBudget{}, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.IfHealthyBudget)
		})
	}, done: func(now objects) string {
		service := get[*corev1.Service](now, "services/"+nodesName)
		budget := get[*policyv1.PodDisruptionBudget](now, "poddisruptionbudgets/"+cacheName)
		d := get[*appsv1.Deployment](now, "deployments/"+cacheName)
		return unless(service != nil && !service.Spec.PublishNotReadyAddresses && service.Labels[memcached.ManagedByLabel] != "" &&
			budget != nil && *budget.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow &&
			d != nil && *d.Spec.ProgressDeadlineSeconds != 60, "there are %v, %v and %v", service, budget, d)
	}},
	{name: "pause-and-resume", setup: ready(1), act: func(r *run) {
		r.changeSpec(paused(true))
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.changeSpec(withSize(2))
		r.awaitReason(cachev1alpha1.ConditionReady, cachev1alpha1.ReasonPaused)
		r.changeSpec(paused(false))
	}},
	{name: deletion, setup: ready(1), act: func(r *run) { r.remove(&cachev1alpha1.Memcached{}) }, done: hasNone},
	{name: "recreate", setup: ready(2), act: func(r *run) {
		r.remove(&cachev1alpha1.Memcached{})
		r.createCache(1)
	}, done: hasAll},
	{name: "conflict", act: func(r *run) {
		service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		service.Name = nodesName
		r.create(service)
		r.createCache(1)
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonConflict)
		r.wire.nextStep()
		r.remove(service)
	}, done: hasAll},

	{name: "statefulset-create", act: creates(2, statefulSetNodes)},
	{name: "statefulset-scale-up", setup: ready(1, statefulSetNodes), act: changes(withSize(3))},
	{name: "statefulset-scale-down", setup: ready(3, statefulSetNodes), act: changes(withSize(1))},
	{name: "new-template", setup: ready(2, statefulSetNodes), act: changes(withNewImage, moreMemory, func(spec *cachev1alpha1.MemcachedSpec) {
		spec.PodMetadata.Labels = map[string]cachev1alpha1.LabelValue{"team": "new"}
		spec.UpdateStrategy.MinReadySeconds = 1
	})},
	{name: "arguments-in-place", setup: ready(3, statefulSetNodes, inFiles), act: inPlace(withThreads(3))},
	{name: "arguments-refused", setup: ready(2, statefulSetNodes, inFiles), act: func(r *run) {
		r.changeSpec(withThreads(refusedThreads))
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonChangeRefused)
		r.wire.nextStep()
		inPlace(withThreads(5))(r)
	}},
	{name: "image-and-memory-in-place", setup: ready(2, podsChange), act: inPlace(withNewImage, moreMemory)},
	{name: "image-refused", setup: ready(2, podsChange), act: func(r *run) {
		r.changeSpec(withImage(missingImage))
		r.awaitReason(cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonImagePullFailed)
		r.await("the former image", func(now objects) string { return unless(now.away("", nil) == "", "a node is away") })
		r.wire.nextStep()
		inPlace(withNewImage)(r)
	}},
	{name: "size-during-change", setup: ready(2, podsChange), act: func(r *run) {
		r.stopHalfWay()
		r.changeSpec(withSize(3))
		r.await("the new node", func(now objects) string {
			pod := get[*corev1.Pod](now, "pods/"+cacheName+"-2")
			return unless(podReady(pod) && pod.Spec.Containers[0].Image != unreadyImage, "it is %v", pod)
		})
		r.wire.nextStep()
		r.changeSpec(withNewImage)
	}},
	{name: "paused-half-way", setup: ready(2, statefulSetNodes), act: func(r *run) {
		r.stopHalfWay()
		r.changeSpec(paused(true))
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.changeSpec(withNewImage)
		r.awaitReason(cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonPaused)
		r.wire.nextStep()
		r.changeSpec(paused(false))
	}},
	{name: "statefulset-edited-and-deleted", setup: ready(1, statefulSetNodes), act: func(r *run) {
		edit(r, &appsv1.StatefulSet{}, func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		})
		r.await("the update strategy is back", func(now objects) string {
			strategy := get[*appsv1.StatefulSet](now, "statefulsets/"+cacheName).Spec.UpdateStrategy
			return unless(strategy.Type == appsv1.OnDeleteStatefulSetStrategyType && strategy.RollingUpdate == nil, "it is %+v", strategy)
		})
		servers := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: cacheName + memcached.ServersSuffix}}
		edit(r, servers, func(c *corev1.ConfigMap) { c.Data["note"] = "theirs" })
		r.await("the note is gone", func(now objects) string {
			c := get[*corev1.ConfigMap](now, "configmaps/"+servers.Name)
			return unless(c != nil && c.Data["note"] == "", "it is %v", c)
		})
		r.remove(servers)
		r.remove(&appsv1.StatefulSet{})
	}, done: hasAll},
	{name: "host-lost", setup: ready(2, statefulSetNodes), act: func(r *run) { r.loseHostOf(cacheName + "-1") }},

	{name: "copies-create", act: creates(2, twoCopies), done: hasAll},
	{name: "copies-image-change", setup: ready(2, twoCopies), act: changes(withNewImage)},
	{name: "copies-scale", setup: ready(2, twoCopies), act: func(r *run) {
		for _, size := range []int32{3, 1} {
			r.changeSpec(withSize(size))
			r.await("the announcement", func(now objects) string {
				config := get[*corev1.ConfigMap](now, "configmaps/"+routesName)
				return unless(config != nil && strings.Contains(config.Data["routes"], fmt.Sprintf(" next %d ", size)), "the routes are %v", config)
			})
			r.passTime()
			r.await("the new routes", settled)
			r.wire.nextStep()
		}
	}, done: hasAll},
	{name: "proxies-leave", setup: ready(2, statefulSetNodes, withProxies), act: changes(func(spec *cachev1alpha1.MemcachedSpec) {
		spec.Proxy = nil
	}), done: func(now objects) string {
		for _, key := range []string{"services/" + cacheName, "deployments/" + proxyName, "configmaps/" + routesName} {
			if now[key] != nil {
				return key + " exists"
			}
		}
		return hasAll(now)
	}},
}

// unless returns "" if the condition holds, and else what is wrong.
func unless(holds bool, format string, args ...any) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// creates, changes and inPlace return acts; ready returns a setup.
func creates(size int32, all ...change) func(*run) {
	return func(r *run) { r.createCache(size, all...) }
}

func changes(all ...change) func(*run) { return func(r *run) { r.changeSpec(all...) } }

func ready(size int32, all ...change) func(*run) {
	return func(r *run) {
		r.createCache(size, all...)
		r.await("set up", settled)
	}
}

// inPlace changes the spec, and waits until every pod matches it. No pod may be replaced meanwhile.
func inPlace(all ...change) func(*run) {
	return func(r *run) {
		before := podUIDs(latest(history.of(r.namespace)))
		r.changeSpec(all...)
		r.await("the change in place", func(now objects) string {
			if uids := podUIDs(now); !maps.Equal(before, uids) {
				return fmt.Sprintf("the pods were %v and are %v", before, uids)
			}
			return settled(now)
		})
	}
}

func podUIDs(now objects) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range now.pods(now["statefulsets/"+cacheName]) {
		uids[pod.Name] = pod.UID
	}
	return uids
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
	r.wire.nextStep()
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
	r.must(user.Delete(r.ctx, pod, client.GracePeriodSeconds(1)))
	r.await("the eviction", func(now objects) string {
		now2 := get[*corev1.Pod](now, "pods/"+name)
		return unless(now2 == nil || now2.UID != pod.UID || now2.DeletionTimestamp != nil, "the pod does not terminate")
	})
}

// passTime moves the clock of the namespace by just over two minutes, after which announced routes take effect. It also triggers the
// operator, whose timers use the real clock.
func (r *run) passTime() {
	r.Helper()
	passed, _ := ahead.LoadOrStore(r.namespace, time.Duration(0))
	ahead.Store(r.namespace, passed.(time.Duration)+2*time.Minute+time.Second)
	r.note()
}

// foreignObjects returns objects of somebody else that have the labels of the operator's objects.
func foreignObjects(namespace string) []client.Object {
	metadata := metav1.ObjectMeta{
		Namespace: namespace, Name: "theirs",
		Labels: map[string]string{memcached.ManagedByLabel: memcached.ManagedBy, memcached.InstanceLabel: cacheName},
	}
	selector := map[string]string{"app": "theirs"}
	containers := corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: containers}
	return []client.Object{
		&corev1.Service{ObjectMeta: metadata, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metadata},
		&appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: template,
		}},
		&appsv1.StatefulSet{ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: template,
		}},
		&corev1.Pod{ObjectMeta: metadata, Spec: containers},
	}
}
