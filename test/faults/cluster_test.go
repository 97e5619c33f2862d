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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
	"github.com/example/memcached-operator/test/testenv"
)

// cluster simulates the garbage collector, the workload controllers and the kubelet in all namespaces. A rollout takes several steps
// (deployment_test.go, statefulset_test.go). Every run has the same steps and the same names of pods.
type cluster struct {
	client client.Client
	live   client.Reader
}

// startCluster starts the cluster, which runs until the context ends. Then the returned channel receives the cluster's error, or nil.
func startCluster(ctx context.Context) (<-chan error, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager of the cluster: %w", err)
	}
	c := &cluster{client: mgr.GetClient(), live: mgr.GetAPIReader()}
	byInstance := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetLabels()[memcached.InstanceLabel]}
		if ownedByMemcached(object) {
			name.Name = metav1.GetControllerOfNoCopy(object).Name
		}
		if name.Name == "" { // the object belongs to no Memcached or MemcachedProxy
			return nil
		}
		return []reconcile.Request{{NamespacedName: name}}
	})
	builder := ctrl.NewControllerManagedBy(mgr).Named("cluster").For(&cachev1alpha1.Memcached{}).
		Watches(&cachev1alpha1.MemcachedProxy{}, &handler.EnqueueRequestForObject{}).Watches(&corev1.Pod{}, byInstance).WithOptions(controller.Options{MaxConcurrentReconciles: 16})
	for _, child := range memcached.Children {
		builder = builder.Watches(child.New(), byInstance)
	}
	if err := builder.Complete(c); err != nil {
		return nil, fmt.Errorf("create the controller of the cluster: %w", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	return stopped, nil
}

// Reconcile takes the next steps for the objects of the Memcached or MemcachedProxy with this name.
func (c *cluster) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	for _, step := range []func(context.Context, client.ObjectKey) error{c.collectGarbage, c.runWorkloads} {
		err := step(ctx, request.NamespacedName)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
			return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // a stale cache: retry with a backoff
		}
		if errors.Is(err, errLate) {
			return reconcile.Result{RequeueAfter: kubeletDelay}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

// runWorkloads takes the next steps for the Deployment and the StatefulSet with this name, and deletes the pods of deleted workloads.
func (c *cluster) runWorkloads(ctx context.Context, name client.ObjectKey) error {
	mc, deployment, set := &cachev1alpha1.Memcached{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}
	for _, object := range []client.Object{mc, deployment, set} {
		if err := client.IgnoreNotFound(c.client.Get(ctx, name, object)); err != nil {
			return err
		}
	}
	pods, err := c.podsOf(ctx, name)
	if err != nil {
		return err
	}
	if !ofOperator(deployment) {
		deployment = &appsv1.Deployment{}
	}
	if !ofOperator(set) {
		set = &appsv1.StatefulSet{}
	}
	return errors.Join(c.runDeployment(ctx, deployment, pods), c.runStatefulSet(ctx, set, pods))
}

// ofOperator reports whether a workload belongs to the operator and is not being deleted.
func ofOperator(w client.Object) bool { return w.GetDeletionTimestamp() == nil && ownedByMemcached(w) }

func ownedByMemcached(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && (owner.Kind == "Memcached" || owner.Kind == "MemcachedProxy")
}

// collectGarbage deletes the children that a deleted Memcached or MemcachedProxy with this name has left.
func (c *cluster) collectGarbage(ctx context.Context, name client.ObjectKey) error {
	var objects []client.Object
	if name.Name == frontName {
		for _, child := range memcachedproxy.Children {
			objects = append(objects, child.Named(name))
		}
		return c.collect(ctx, name, &cachev1alpha1.MemcachedProxy{}, objects)
	}
	for _, child := range memcached.Children {
		objects = append(objects, child.Named(name))
	}
	return c.collect(ctx, name, &cachev1alpha1.Memcached{}, objects)
}

// collect deletes the objects whose owner no longer exists. It compares UIDs, because a new owner may have the same name.
func (c *cluster) collect(ctx context.Context, name client.ObjectKey, owner client.Object, objects []client.Object) error {
	fetched := false
	for _, object := range objects {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(object), object); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return err
		}
		if !ownedByMemcached(object) {
			continue
		}
		if !fetched {
			if err := client.IgnoreNotFound(c.live.Get(ctx, name, owner)); err != nil {
				return err
			}
			fetched = true
		}
		if uid := object.GetUID(); metav1.GetControllerOfNoCopy(object).UID != owner.GetUID() {
			err := client.IgnoreNotFound(c.client.Delete(ctx, object, client.Preconditions{UID: &uid}))
			if err != nil && !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	return nil
}

// podsOf returns the pods whose labels name this Memcached or MemcachedProxy, even if their workload no longer exists.
func (c *cluster) podsOf(ctx context.Context, name client.ObjectKey) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.client.List(ctx, &pods, client.InNamespace(name.Namespace), client.MatchingLabels{
		memcached.InstanceLabel: name.Name, memcached.ManagedByLabel: memcached.ManagedBy,
	})
	return pods.Items, err
}

// owned returns the pods of a workload. It first deletes the pods of an earlier workload, because new pods may need their names. kind is
// the Kind of the pods' owner: "StatefulSet", or "ReplicaSet" for a Deployment.
func (c *cluster) owned(ctx context.Context, w client.Object, kind string, pods []corev1.Pod) ([]corev1.Pod, error) {
	var own, garbage []corev1.Pod
	for _, pod := range pods {
		switch {
		case len(pod.OwnerReferences) == 0 || pod.OwnerReferences[0].Kind != kind:
		case pod.OwnerReferences[0].UID == w.GetUID():
			own = append(own, pod)
		default:
			garbage = append(garbage, pod)
		}
	}
	return own, c.remove(ctx, garbage)
}

// remove deletes the pods at once. It does not delete new pods with the same names.
func (c *cluster) remove(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		err := c.client.Delete(ctx, &pods[i], client.GracePeriodSeconds(0), client.Preconditions{UID: &pods[i].UID})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// start creates the pod if it does not exist, and then makes it ready with these container statuses. It leaves a pod that already has
// container statuses as it is, because a test may have set them.
func (c *cluster) start(ctx context.Context, pod *corev1.Pod, containers ...corev1.ContainerStatus) error {
	if pod.UID == "" {
		if err := c.client.Create(ctx, pod); err != nil {
			return err
		}
	}
	if podReady(pod) || len(pod.Status.ContainerStatuses) > 0 {
		return nil
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.ContainerStatuses = corev1.PodRunning, "192.0.2.1", containers
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return c.client.Status().Update(ctx, pod)
}

// newPod returns a pod of the workload w, but does not create the pod. The argument owner has only a Kind and a name. For a Deployment,
// owner is a ReplicaSet, which need not exist. The pod's owner always gets the UID of w.
func newPod(w client.Object, owner metav1.OwnerReference, name string, labels map[string]string) *corev1.Pod {
	owner.APIVersion, owner.UID, owner.Controller = "apps/v1", w.GetUID(), ptr.To(true)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.GetNamespace(), Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
	}
}

// report writes the status of w to the API server if it has changed. The argument status points to the status in w, and present is the
// new status.
func report[S any](ctx context.Context, c *cluster, w client.Object, status *S, present S) error {
	if equality.Semantic.DeepEqual(*status, present) {
		return nil
	}
	*status = present
	return c.client.Status().Update(ctx, w)
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

func readyPods(pods []corev1.Pod) int {
	ready := 0
	for i := range pods {
		if podReady(&pods[i]) {
			ready++
		}
	}
	return ready
}

func templateHash(template *corev1.PodTemplateSpec) string {
	hash := fnv.New32a()
	hash.Write(mustMarshal(template))
	return strconv.FormatUint(uint64(hash.Sum32()), 36)
}

const revisionAnnotation = "deployment.kubernetes.io/revision"

// replicaSets contains the pods of a Deployment. current are the pods of the current template with an index below spec.replicas, and
// surplus are the other pods of that template. old are the pods of earlier templates.
type replicaSets struct{ current, surplus, old []corev1.Pod }

func replicaSetsOf(d *appsv1.Deployment, hash string, pods []corev1.Pod) replicaSets {
	var sets replicaSets
	for _, pod := range pods {
		index := 0
		_, err := fmt.Sscanf(pod.Name, d.Name+"-"+hash+"-%d", &index)
		switch {
		case err != nil:
			sets.old = append(sets.old, pod)
		case index < int(ptr.Deref(d.Spec.Replicas, 0)):
			sets.current = append(sets.current, pod)
		default:
			sets.surplus = append(sets.surplus, pod)
		}
	}
	return sets
}

func (s replicaSets) leaving() []corev1.Pod { return slices.Concat(s.surplus, s.old) }

// status returns the status that the simulated Deployment controller reports. All pods of the current template count as updated, even
// surplus ones.
func (s replicaSets) status(d *appsv1.Deployment, reason string) appsv1.DeploymentStatus {
	all := slices.Concat(s.current, s.surplus, s.old)
	return deploymentStatus(d, len(all), len(s.current)+len(s.surplus), readyPods(all), reason)
}

func deploymentStatus(d *appsv1.Deployment, replicas, updated, ready int, reason string) appsv1.DeploymentStatus {
	return appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           int32(replicas),
		UpdatedReplicas:    int32(updated),
		ReadyReplicas:      int32(ready),
		AvailableReplicas:  int32(ready),
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason,
		}},
	}
}

// runDeployment takes the steps of a rollout: it creates the pods of the current template, makes them ready, deletes all other pods,
// and reports the status. If there is no Deployment, d is empty.
func (c *cluster) runDeployment(ctx context.Context, d *appsv1.Deployment, pods []corev1.Pod) error {
	own, err := c.owned(ctx, d, "ReplicaSet", pods)
	if err != nil || d.UID == "" {
		return err
	}
	hash, size := templateHash(&d.Spec.Template), int(ptr.Deref(d.Spec.Replicas, 0))
	sets := replicaSetsOf(d, hash, own)
	if err := c.observe(ctx, d, hash, sets); err != nil {
		return err
	}
	ready := 0
	for i := range size {
		pod := deploymentPod(d, hash, i)
		if i := slices.IndexFunc(sets.current, func(other corev1.Pod) bool { return other.Name == pod.Name }); i >= 0 {
			pod = &sets.current[i]
		}
		if err := c.start(ctx, pod); err != nil {
			return err
		}
		if podReady(pod) {
			ready++
		}
	}
	if err := c.remove(ctx, sets.leaving()); err != nil {
		return err
	}
	return report(ctx, c, d, &d.Status, deploymentStatus(d, size, size, ready, "NewReplicaSetAvailable"))
}

// observe increments the revision annotation if the template is new, and reports the progress of the rollout.
func (c *cluster) observe(ctx context.Context, d *appsv1.Deployment, hash string, sets replicaSets) error {
	if d.Annotations["test.example.com/template"] != hash {
		revision, _ := strconv.Atoi(d.Annotations[revisionAnnotation])
		before := d.DeepCopy()
		d.Annotations[revisionAnnotation] = strconv.Itoa(revision + 1)
		d.Annotations["test.example.com/template"] = hash
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := c.client.Patch(ctx, d, patch); err != nil {
			return err
		}
	}
	if d.Status.ObservedGeneration == d.Generation && len(sets.leaving()) == 0 && readyPods(sets.current) == int(*d.Spec.Replicas) {
		return nil
	}
	reason := "ReplicaSetUpdated"
	if progress := progressOf(d); len(sets.current) > 0 && progress != "" {
		reason = progress // a Deployment that scales keeps the reason of its last rollout
	}
	return report(ctx, c, d, &d.Status, sets.status(d, reason))
}

func deploymentPod(d *appsv1.Deployment, hash string, index int) *corev1.Pod {
	labels := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	maps.Copy(labels, d.Spec.Selector.MatchLabels)
	owner := metav1.OwnerReference{Kind: "ReplicaSet", Name: d.Name + "-" + hash}
	return newPod(d, owner, fmt.Sprintf("%s-%s-%d", d.Name, hash, index), labels)
}

func progressOf(d *appsv1.Deployment) string {
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing {
			return condition.Reason
		}
	}
	return ""
}
