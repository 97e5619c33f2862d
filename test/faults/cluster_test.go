// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
)

// act simulates the garbage collector, the controllers of workloads and of disruptions, and the kubelet in the namespace, until the run
// ends. Every run has the same steps and the same names of pods.
func (r *run) act() {
	defer close(r.acted)
	for {
		entries, changed := r.history.all()
		now, again := latest(entries), time.Duration(1<<62)
		err := errors.Join(r.collectGarbage(now), r.runWorkloads(now), r.countDisruptions(now))
		switch {
		case errors.Is(err, errLate):
			again = kubeletDelay
		case err != nil: // usually because the history lags
			again = 100 * time.Millisecond
		}
		select {
		case <-r.ctx.Done():
			if err != nil {
				r.Logf("the cluster failed last with: %v", err)
			}
			return
		case <-changed:
		case <-time.After(again):
		}
	}
}

func ownedByMemcached(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && owner.Kind == "Memcached"
}

// collectGarbage deletes the children that a deleted Memcached has left, and the pods of workloads that do not exist. It compares UIDs,
// because a new owner may have the same name.
func (r *run) collectGarbage(now objects) error {
	var owner cachev1alpha1.Memcached // read last: an owner that is newer than its children exists
	err := client.IgnoreNotFound(user.Get(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: cacheName}, &owner))
	exists := map[types.UID]bool{owner.UID: true}
	for _, object := range now {
		exists[object.GetUID()] = exists[object.GetUID()] || resourceOf(object) != "memcacheds"
	}
	for _, object := range now {
		if controller := metav1.GetControllerOfNoCopy(object); controller != nil && !exists[controller.UID] && err == nil {
			err = remove(r.ctx, object)
		}
	}
	return err
}

// remove deletes an object at once. It does not delete a new object with the same name.
func remove(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	return client.IgnoreNotFound(user.Delete(ctx, object, client.GracePeriodSeconds(0), client.Preconditions{UID: &uid}))
}

// runWorkloads takes the next steps for the workloads.
func (r *run) runWorkloads(now objects) error {
	var errs []error
	for _, object := range now {
		w := workload{Object: object.DeepCopyObject().(client.Object), pods: now.pods(object)}
		switch object := w.Object.(type) {
		case *appsv1.Deployment:
			w.template, w.size, w.revision = &object.Spec.Template, *object.Spec.Replicas, r.templateHash(&object.Spec.Template)
			w.prefix = w.GetName() + "-" + w.revision
			w.owner = metav1.OwnerReference{Kind: "ReplicaSet", Name: w.prefix} // it need not exist
			w.template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = w.revision
		case *appsv1.StatefulSet:
			w.template, w.size, w.prefix = &object.Spec.Template, *object.Spec.Replicas, w.GetName()
			w.revision = w.prefix + "-" + r.templateHash(w.template)
			w.owner = metav1.OwnerReference{Kind: "StatefulSet", Name: w.prefix}
			w.template.Labels[appsv1.StatefulSetRevisionLabel] = w.revision
		default:
			continue
		}
		if ownedByMemcached(w) && w.GetDeletionTimestamp() == nil {
			errs = append(errs, r.runWorkload(&w))
		}
	}
	return errors.Join(errs...)
}

// countDisruptions reports in the budgets how many nodes an eviction may take away.
func (r *run) countDisruptions(now objects) (err error) {
	for _, object := range now {
		budget, ok := object.DeepCopyObject().(*policyv1.PodDisruptionBudget)
		if !ok || !ownedByMemcached(budget) {
			continue
		}
		selector, _ := metav1.LabelSelectorAsSelector(budget.Spec.Selector) // the API server has validated it
		present := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, Conditions: budget.Status.Conditions}
		for _, object := range now {
			if pod, ok := object.(*corev1.Pod); ok && selector.Matches(labels.Set(pod.Labels)) {
				present.ExpectedPods++
				if podReady(pod) && pod.DeletionTimestamp == nil {
					present.CurrentHealthy++
				}
			}
		}
		away := present.ExpectedPods - present.CurrentHealthy
		present.DisruptionsAllowed = max(int32(budget.Spec.MaxUnavailable.IntValue())-away, 0)
		err = errors.Join(err, report(r.ctx, budget, &budget.Status, present))
	}
	return err
}

// report writes the status of w to the API server if it has changed. The argument status points to the status in w.
func report[S any](ctx context.Context, w client.Object, status *S, present S) error {
	if equality.Semantic.DeepEqual(*status, present) {
		return nil
	}
	*status = present
	return user.Status().Update(ctx, w)
}

func podReady(pod *corev1.Pod) bool { return pod != nil && memcached.PodReady(pod) }

// templateHash returns the same in all namespaces.
func (r *run) templateHash(template *corev1.PodTemplateSpec) string {
	hash := fnv.New32a()
	hash.Write([]byte(normalized(template, r.namespace)))
	return strconv.FormatUint(uint64(hash.Sum32()), 36)
}

// workload is a Deployment or a StatefulSet with the update strategy OnDelete. Its pods are numbered, and named prefix-0, prefix-1 and so
// on. The prefix of a Deployment contains the hash of the template. So when the template has changed, all former pods are surplus.
type workload struct {
	client.Object

	template         *corev1.PodTemplateSpec
	size             int32
	prefix, revision string
	// owner is the owner of its pods, which gets the UID of the workload.
	owner metav1.OwnerReference
	pods  []*corev1.Pod
}

// runWorkload replaces missing pods by pods of the current template, lets the kubelets act on all, and deletes surplus ones. A terminating
// pod of a lost host keeps its number.
func (r *run) runWorkload(w *workload) (late error) {
	ready := int32(0)
	for i := range w.size {
		var pod *corev1.Pod
		name := fmt.Sprintf("%s-%d", w.prefix, i)
		if at := slices.IndexFunc(w.pods, func(pod *corev1.Pod) bool { return pod.Name == name }); at >= 0 {
			pod, w.pods = w.pods[at].DeepCopy(), slices.Delete(w.pods, at, at+1)
		}
		if pod != nil && pod.DeletionTimestamp != nil && !lost(pod) {
			if err := remove(r.ctx, pod); err != nil {
				return err
			}
			pod = nil
		}
		if pod == nil {
			pod = w.newPod(name)
			if err := user.Create(r.ctx, pod); err != nil {
				return err
			}
		}
		if err := r.syncPod(pod); errors.Is(err, errLate) {
			late = err
		} else if err != nil {
			return err
		}
		if podReady(pod) {
			ready++
		}
	}
	for _, pod := range w.pods {
		if err := remove(r.ctx, pod); err != nil {
			return err
		}
	}
	return errors.Join(w.report(r.ctx, ready), late)
}

func (w *workload) report(ctx context.Context, ready int32) error {
	switch object := w.Object.(type) {
	case *appsv1.Deployment:
		return report(ctx, object, &object.Status, appsv1.DeploymentStatus{
			ObservedGeneration: object.Generation, Replicas: w.size, UpdatedReplicas: w.size, ReadyReplicas: ready, AvailableReplicas: ready,
			Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
			}},
		})
	case *appsv1.StatefulSet:
		return report(ctx, object, &object.Status, appsv1.StatefulSetStatus{
			ObservedGeneration: object.Generation, Replicas: w.size, ReadyReplicas: ready, AvailableReplicas: ready,
			UpdateRevision: w.revision, CollisionCount: object.Status.CollisionCount,
		})
	}
	return nil
}

// newPod returns a pod, but does not create it.
func (w *workload) newPod(name string) *corev1.Pod {
	w.owner.APIVersion, w.owner.UID, w.owner.Controller = "apps/v1", w.GetUID(), ptr.To(true)
	container := w.template.Spec.Containers[0]
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.GetNamespace(), Name: name, Labels: maps.Clone(w.template.Labels), Annotations: maps.Clone(w.template.Annotations),
			OwnerReferences: []metav1.OwnerReference{w.owner},
		},
		Spec: corev1.PodSpec{
			NodeName: "node", // the API server deletes a pod without a node at once, even with a grace period
			Containers: []corev1.Container{{
				Name: container.Name, Image: container.Image, Args: container.Args, Resources: container.Resources,
			}},
		},
	}
}

// The simulated kubelet cannot pull missingImage. A pod with unreadyImage runs, but never becomes ready.
const (
	missingImage = "memcached:missing"
	unreadyImage = "memcached:unready"
)

// kubeletDelay is how long the kubelet takes to restart a container after its image has changed. Until then, the pod's status is
// unchanged. The delay is so long that the operator sees the unchanged status after its own patch of the pod.
const kubeletDelay = 1500 * time.Millisecond

// errLate means that a pod has a new image, but kubeletDelay has not passed yet.
var errLate = errors.New("a kubelet is late")

// syncPod does what the kubelet and memcached's parent do for a pod. The kubelet starts memcached, applies changed resources, and restarts
// memcached if the image has changed. The parent follows its entry.
func (r *run) syncPod(pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	container, found := pod.Spec.Containers[0], memcached.StatusOf(pod, pod.Spec.Containers[0].Name)
	status := corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, Resources: &container.Resources, Ready: container.Image != unreadyImage,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
	if found != nil {
		status.RestartCount, status.LastTerminationState = found.RestartCount, found.LastTerminationState
	}
	if found != nil && status.Image != found.Image {
		since, _ := r.noticed.LoadOrStore(fmt.Sprint(pod.UID, pod.Generation), time.Now())
		if time.Since(since.(time.Time)) < kubeletDelay {
			return errLate
		}
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
		if status.Image != missingImage {
			status.RestartCount++
		}
	}
	if status.Image == missingImage {
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}}
		status.Ready = false
	}
	if found == nil || !equality.Semantic.DeepEqual(*found, status) {
		ready := corev1.ConditionFalse
		if status.Ready {
			ready = corev1.ConditionTrue
		}
		pod.Status.Phase, pod.Status.PodIP, pod.Status.ContainerStatuses = corev1.PodRunning, "192.0.2.1", []corev1.ContainerStatus{status}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		if err := user.Status().Update(r.ctx, pod); err != nil {
			return err
		}
	}
	r.follow(pod)
	return nil
}

// lost reports whether the pod was evicted from a cluster node that does not report, so that no kubelet ends it.
func lost(pod *corev1.Pod) bool {
	disrupted := memcached.PodCondition(pod, corev1.DisruptionTarget)
	return disrupted != nil && disrupted.Reason == "DeletionByTaintManager"
}

// process is memcached in one pod. In these tests, its parent reads its entry when the simulated kubelet acts on its pod, and when the
// operator asks for its status.
type process struct {
	// list has the arguments in effect, and number is that of their entry, 0 for the arguments of the first start.
	list    protocol.List
	number  int64
	refused *protocol.Refusal
}

// refusedThreads is a number of threads with which the simulated memcached does not start.
const refusedThreads = 7

// Ask implements controllers.Nodes. There is no answer while memcached's container does not run. Each proxy has read the latest routes.
func (r *run) Ask(_ context.Context, pod *corev1.Pod, _ int, _ ...string) (protocol.Status, error) {
	config := get[*corev1.ConfigMap](r.history.now(), "configmaps/"+routesName)
	if pod.Labels[memcached.NameLabel] == memcached.ProxyName && config != nil {
		routes, err := protocol.ParseRoutes(config.Data[protocol.RoutesKey])
		status := protocol.ProxyStatus{Routes: config.Data[protocol.RoutesKey], Count: routes.Pool.At(r.Now())}
		return protocol.Status{Proxy: &status}, err
	}
	if status := memcached.StatusOf(pod, memcached.ContainerName); status == nil || status.State.Running == nil {
		return protocol.Status{}, errors.New("connection refused")
	}
	p := r.follow(pod)
	return protocol.Status{Number: p.number, List: p.list, SecondsInEffect: 3600, Refused: p.refused}, nil
}

// follow lets the parent of a pod read its entry, and returns what memcached then runs with.
func (r *run) follow(pod *corev1.Pod) process {
	r.processMutex.Lock()
	defer r.processMutex.Unlock()
	p, started := r.processes[pod.UID]
	if !started {
		p.list = memcached.FirstList(pod)
	}
	switch entry := entryOf(r.history.now(), pod); {
	case entry.Number == 0 || entry.Number == p.number || p.refused != nil && p.refused.Number == entry.Number: // nothing new
	case entry.Value("-t") == strconv.Itoa(refusedThreads):
		p.refused = &protocol.Refusal{Number: entry.Number, Reason: "too many threads"}
	default:
		p.list, p.number, p.refused = entry.List, entry.Number, nil
	}
	r.processes[pod.UID] = p
	return p
}

// entryOf returns the entry for a pod, which is empty if there is none.
func entryOf(now objects, pod *corev1.Pod) (entry protocol.Entry) {
	if config := get[*corev1.ConfigMap](now, "configmaps/"+cacheName+memcached.ArgumentsSuffix); config != nil {
		entry, _ = protocol.ParseEntry(config.Data[pod.Name])
	}
	if entry.Pod != string(pod.UID) {
		return protocol.Entry{}
	}
	return entry
}

// Now is the API server's time, and that of the proxies: see passTime.
func (r *run) Now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// Since implements clock.PassiveClock.
func (r *run) Since(earlier time.Time) time.Duration { return r.Now().Sub(earlier) }
