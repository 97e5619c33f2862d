// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"context"
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
	"github.com/example/memcached-operator/test/testenv"
)

const revisionAnnotation = "deployment.kubernetes.io/revision"

// cluster simulates the controllers around the operator in all namespaces: the Deployment controller and the kubelet, as the
// sequence of steps in a rollout, and the garbage collector. Names and steps are deterministic.
type cluster struct {
	client client.Client
	live   client.Reader
}

// startCluster runs the cluster until the context ends.
func startCluster(ctx context.Context) (<-chan error, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager of the cluster: %w", err)
	}
	c := &cluster{client: mgr.GetClient(), live: mgr.GetAPIReader()}
	byInstance := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) []reconcile.Request {
		name := client.ObjectKey{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[memcached.InstanceLabel]}
		return []reconcile.Request{{NamespacedName: name}}
	})
	builder := ctrl.NewControllerManagedBy(mgr).Named("cluster").For(&cachev1alpha1.Memcached{}).
		Watches(&corev1.Pod{}, byInstance).WithOptions(controller.Options{MaxConcurrentReconciles: 16})
	for _, child := range memcached.Children {
		builder = builder.Watches(child.New(), &handler.EnqueueRequestForObject{})
	}
	if err := builder.Complete(c); err != nil {
		return nil, fmt.Errorf("create the controller of the cluster: %w", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	return stopped, nil
}

// Reconcile takes the next steps for the objects of one name.
func (c *cluster) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if err := c.collectGarbage(ctx, request.NamespacedName); err != nil {
		return reconcile.Result{}, err
	}
	deployment := &appsv1.Deployment{}
	err := c.client.Get(ctx, request.NamespacedName, deployment)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	pods, err := c.podsOf(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if deployment.UID == "" || !ownedByMemcached(deployment) {
		deployment = &appsv1.Deployment{}
	}
	err = c.rollOut(ctx, deployment, pods)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // a stale cache: retry with a backoff
	}
	return reconcile.Result{}, err
}

func ownedByMemcached(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && owner.Kind == "Memcached"
}

// collectGarbage deletes the objects whose Memcached is gone.
func (c *cluster) collectGarbage(ctx context.Context, name client.ObjectKey) error {
	mc := &cachev1alpha1.Memcached{}
	fetched := false
	for _, child := range memcached.Children {
		object := child.New()
		if err := c.client.Get(ctx, name, object); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return err
		}
		if !ownedByMemcached(object) {
			continue
		}
		if !fetched {
			if err := client.IgnoreNotFound(c.live.Get(ctx, name, mc)); err != nil {
				return err
			}
			fetched = true
		}
		if uid := object.GetUID(); metav1.GetControllerOfNoCopy(object).UID != mc.UID {
			err := client.IgnoreNotFound(c.client.Delete(ctx, object, client.Preconditions{UID: &uid}))
			if err != nil && !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	return nil
}

// podsOf returns the pods of the Deployment with a name, even if it is gone.
func (c *cluster) podsOf(ctx context.Context, name client.ObjectKey) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.client.List(ctx, &pods, client.InNamespace(name.Namespace), client.MatchingLabels{
		memcached.InstanceLabel: name.Name, memcached.ManagedByLabel: memcached.ManagedBy,
	})
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return len(pod.OwnerReferences) == 0 }), err
}

// rollOut takes the steps of a rollout: it observes the Deployment, creates its pods, makes them ready, and deletes the
// others.
func (c *cluster) rollOut(ctx context.Context, d *appsv1.Deployment, pods []corev1.Pod) error {
	var current, others, orphans []corev1.Pod
	hash := templateHash(d)
	index, size := 0, int(ptr.Deref(d.Spec.Replicas, 0))
	for _, pod := range pods {
		_, err := fmt.Sscanf(pod.Name, d.Name+"-"+hash+"-%d", &index)
		switch {
		case pod.OwnerReferences[0].UID != d.UID:
			orphans = append(orphans, pod)
		case err == nil && index < size:
			current = append(current, pod)
		default:
			others = append(others, pod)
		}
	}
	// Pods of a Deployment that is gone go first: the pods of the current one may have their names.
	if err := c.remove(ctx, orphans); err != nil || d.UID == "" {
		return err
	}
	if err := c.observe(ctx, d, hash, current, others); err != nil {
		return err
	}
	for i := range size {
		if err := c.runPod(ctx, d, hash, i, current); err != nil {
			return err
		}
	}
	if err := c.remove(ctx, others); err != nil {
		return err
	}
	return c.report(ctx, d, size, size, size, "NewReplicaSetAvailable")
}

// remove deletes these pods, but no others with their names.
func (c *cluster) remove(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		err := c.client.Delete(ctx, &pods[i], client.GracePeriodSeconds(0), client.Preconditions{UID: &pods[i].UID})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// observe gives a new template its revision and reports the progress of the rollout.
func (c *cluster) observe(ctx context.Context, d *appsv1.Deployment, hash string, current, others []corev1.Pod) error {
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
	if d.Status.ObservedGeneration == d.Generation && len(others) == 0 && readyPods(current) == int(*d.Spec.Replicas) {
		return nil
	}
	reason := "ReplicaSetUpdated"
	if progress := progressOf(d); len(current) > 0 && progress != "" {
		reason = progress // a Deployment that scales keeps the reason of its last rollout
	}
	return c.report(ctx, d, len(current)+len(others), len(current), readyPods(current)+readyPods(others), reason)
}

// runPod creates a pod, then makes it ready.
func (c *cluster) runPod(ctx context.Context, d *appsv1.Deployment, hash string, index int, current []corev1.Pod) error {
	pod := newPod(d, hash, index)
	for i := range current {
		if current[i].Name == pod.Name {
			pod = &current[i]
		}
	}
	if pod.UID == "" {
		if err := c.client.Create(ctx, pod); err != nil {
			return err
		}
	}
	if podReady(pod) {
		return nil
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return c.client.Status().Update(ctx, pod)
}

func newPod(d *appsv1.Deployment, hash string, index int) *corev1.Pod {
	labels := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	maps.Copy(labels, d.Spec.Selector.MatchLabels)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: fmt.Sprintf("%s-%s-%d", d.Name, hash, index), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: d.Name + "-" + hash, UID: d.UID, Controller: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
	}
}

// report writes the status of a Deployment unless it is up to date.
func (c *cluster) report(ctx context.Context, d *appsv1.Deployment, replicas, updated, ready int, reason string) error {
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           int32(replicas),
		UpdatedReplicas:    int32(updated),
		ReadyReplicas:      int32(ready),
		AvailableReplicas:  int32(ready),
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason,
		}},
	}
	if equality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	d.Status = status
	return c.client.Status().Update(ctx, d)
}

func progressOf(d *appsv1.Deployment) string {
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing {
			return condition.Reason
		}
	}
	return ""
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

// templateHash identifies the pods of a template.
func templateHash(d *appsv1.Deployment) string {
	hash := fnv.New32a()
	hash.Write(mustMarshal(d.Spec.Template))
	return strconv.FormatUint(uint64(hash.Sum32()), 36)
}
