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

// cluster simulates the garbage collector, the workload controllers and the kubelet in all namespaces. Every run has the same steps and the
// same names of pods.
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
		return []reconcile.Request{{NamespacedName: name}}
	})
	builder := ctrl.NewControllerManagedBy(mgr).Named("cluster").WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		For(&cachev1alpha1.Memcached{}).Watches(&cachev1alpha1.MemcachedProxy{}, &handler.EnqueueRequestForObject{}).
		Watches(&corev1.Pod{}, byInstance)
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
	deployment, set := &appsv1.Deployment{}, &appsv1.StatefulSet{}
	for _, object := range []client.Object{deployment, set} {
		if err := client.IgnoreNotFound(c.client.Get(ctx, name, object)); err != nil {
			return err
		}
		if object.GetDeletionTimestamp() != nil || !ownedByMemcached(object) {
			object.SetUID("")
		}
	}
	// Also the pods of a workload that no longer exists.
	var pods corev1.PodList
	err := c.client.List(ctx, &pods, client.InNamespace(name.Namespace), client.MatchingLabels{
		memcached.InstanceLabel: name.Name, memcached.ManagedByLabel: memcached.ManagedBy,
	})
	return errors.Join(err, c.runDeployment(ctx, deployment, pods.Items), c.runStatefulSet(ctx, set, pods.Items))
}

func ownedByMemcached(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && (owner.Kind == "Memcached" || owner.Kind == "MemcachedProxy")
}

// collectGarbage deletes the children that a deleted Memcached or MemcachedProxy with this name has left. It compares UIDs, because a new
// owner may have the same name.
func (c *cluster) collectGarbage(ctx context.Context, name client.ObjectKey) error {
	var owner client.Object = &cachev1alpha1.Memcached{}
	var children []client.Object
	for _, child := range memcached.Children {
		children = append(children, child.Named(name))
	}
	if name.Name == frontName {
		owner, children = &cachev1alpha1.MemcachedProxy{}, nil
		for _, child := range memcachedproxy.Children {
			children = append(children, child.Named(name))
		}
	}
	for _, child := range children {
		err := c.client.Get(ctx, client.ObjectKeyFromObject(child), child)
		if apierrors.IsNotFound(err) || err == nil && !ownedByMemcached(child) {
			continue
		}
		if owner.GetUID() == "" {
			err = errors.Join(err, client.IgnoreNotFound(c.live.Get(ctx, name, owner)))
		}
		if uid := child.GetUID(); err == nil && metav1.GetControllerOfNoCopy(child).UID != owner.GetUID() {
			err = c.client.Delete(ctx, child, client.Preconditions{UID: &uid})
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
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

// start creates the pod if it does not exist, and makes it ready.
func (c *cluster) start(ctx context.Context, pod *corev1.Pod) error {
	if pod.UID == "" {
		if err := c.client.Create(ctx, pod); err != nil {
			return err
		}
	}
	if podReady(pod) {
		return nil
	}
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "192.0.2.1"
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

// runDeployment takes the steps of a rollout: it creates the pods of the current template, makes them ready, deletes all other pods,
// and reports the status before and after. If there is no Deployment, d is empty.
func (c *cluster) runDeployment(ctx context.Context, d *appsv1.Deployment, pods []corev1.Pod) error {
	own, err := c.owned(ctx, d, "ReplicaSet", pods)
	if err != nil || d.UID == "" {
		return err
	}
	hash, size, updated := templateHash(&d.Spec.Template), int(ptr.Deref(d.Spec.Replicas, 0)), 0
	var current, leaving []corev1.Pod
	for _, pod := range own {
		index := size
		if _, err := fmt.Sscanf(pod.Name, d.Name+"-"+hash+"-%d", &index); err == nil {
			updated++
		}
		if index < size {
			current = append(current, pod)
		} else {
			leaving = append(leaving, pod)
		}
	}
	if err := c.countRevision(ctx, d, hash); err != nil {
		return err
	}
	if d.Status.ObservedGeneration != d.Generation || len(leaving) > 0 || readyPods(current) != size {
		reason := "ReplicaSetUpdated"
		if progress := progressOf(d); len(current) > 0 && progress != "" {
			reason = progress // a Deployment that scales keeps the reason of its last rollout
		}
		if err := report(ctx, c, d, &d.Status, deploymentStatus(d, len(own), updated, readyPods(own), reason)); err != nil {
			return err
		}
	}
	for i := range size {
		pod := deploymentPod(d, hash, i)
		if i := slices.IndexFunc(current, func(other corev1.Pod) bool { return other.Name == pod.Name }); i >= 0 {
			pod = &current[i]
		}
		if err := c.start(ctx, pod); err != nil {
			return err
		}
	}
	if err := c.remove(ctx, leaving); err != nil {
		return err
	}
	return report(ctx, c, d, &d.Status, deploymentStatus(d, size, size, size, "NewReplicaSetAvailable"))
}

// countRevision increments the revision annotation if the template is new.
func (c *cluster) countRevision(ctx context.Context, d *appsv1.Deployment, hash string) error {
	const revisionAnnotation, templateAnnotation = "deployment.kubernetes.io/revision", "test.example.com/template"
	if d.Annotations[templateAnnotation] == hash {
		return nil
	}
	revision, _ := strconv.Atoi(d.Annotations[revisionAnnotation])
	before := d.DeepCopy()
	d.Annotations[revisionAnnotation], d.Annotations[templateAnnotation] = strconv.Itoa(revision+1), hash
	return c.client.Patch(ctx, d, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func deploymentStatus(d *appsv1.Deployment, replicas, updated, ready int, reason string) appsv1.DeploymentStatus {
	return appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: int32(replicas), UpdatedReplicas: int32(updated),
		ReadyReplicas: int32(ready), AvailableReplicas: int32(ready),
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason,
		}},
	}
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
