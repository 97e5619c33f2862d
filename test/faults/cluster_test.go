// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
)

// cluster simulates the garbage collector, the controllers of workloads and of disruptions, and the kubelet in all namespaces. Every run has
// the same steps and the same names of pods.
type cluster struct {
	client client.Client
	live   client.Reader
}

// startCluster starts the cluster, which runs until the context ends. Then the returned channel receives the cluster's error, or nil.
func startCluster(ctx context.Context) (<-chan error, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: testenv.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, fmt.Errorf("create the manager of the cluster: %w", err)
	}
	c := &cluster{client: mgr.GetClient(), live: mgr.GetAPIReader()}
	// Each namespace has one Memcached.
	byNamespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: cacheName}}}
	})
	builder := ctrl.NewControllerManagedBy(mgr).Named("cluster").WithOptions(controller.Options{MaxConcurrentReconciles: 16}).
		For(&cachev1alpha1.Memcached{}).Watches(&corev1.Pod{}, byNamespace)
	for _, child := range memcached.Kinds() {
		builder = builder.Watches(child.New(), byNamespace)
	}
	if err := errors.Join(builder.Complete(c), history.follow(ctx, mgr.GetCache())); err != nil {
		return nil, fmt.Errorf("create the controller of the cluster: %w", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	return stopped, nil
}

// Reconcile takes the next steps in the namespace.
func (c *cluster) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	for _, step := range []func(context.Context, string) error{c.collectGarbage, c.runWorkloads, c.countDisruptions} {
		err := step(ctx, request.Namespace)
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

func ownedByMemcached(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && owner.Kind == "Memcached"
}

// collectGarbage deletes the children that a deleted Memcached has left, and the pods of workloads that do not exist. It compares UIDs,
// because a new owner may have the same name.
func (c *cluster) collectGarbage(ctx context.Context, namespace string) error {
	children := slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(r string) bool { return r == "memcacheds" || r == "pods" })
	var controlled []client.Object
	for _, resource := range append(children, "pods") { // workloads are before their pods
		list := listOf(kinds[resource])
		if err := c.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error { // the function never returns an error
			if object := item.(client.Object); metav1.GetControllerOfNoCopy(object) != nil {
				controlled = append(controlled, object)
			}
			return nil
		})
	}
	var owner cachev1alpha1.Memcached // read last: an owner that is newer than its children exists
	err := c.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cacheName}, &owner)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	alive := map[types.UID]bool{owner.UID: owner.UID != ""}
	return c.remove(ctx, slices.DeleteFunc(controlled, func(object client.Object) bool {
		has := alive[metav1.GetControllerOfNoCopy(object).UID]
		alive[object.GetUID()] = has
		return has
	}))
}

// remove deletes the objects at once. It does not delete new objects with the same names.
func (c *cluster) remove(ctx context.Context, objects []client.Object) error {
	for _, object := range objects {
		uid := object.GetUID()
		err := c.client.Delete(ctx, object, client.GracePeriodSeconds(0), client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// runWorkloads takes the next steps for the workloads of the namespace.
func (c *cluster) runWorkloads(ctx context.Context, namespace string) error {
	var deployments appsv1.DeploymentList
	var sets appsv1.StatefulSetList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&deployments, &sets, &pods} {
		if err := c.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
	}
	var errs []error
	for i := range deployments.Items {
		if d := &deployments.Items[i]; d.DeletionTimestamp == nil && ownedByMemcached(d) {
			errs = append(errs, c.runDeployment(ctx, d, owned(d, pods.Items)))
		}
	}
	for i := range sets.Items {
		if s := &sets.Items[i]; s.DeletionTimestamp == nil && ownedByMemcached(s) {
			errs = append(errs, c.runStatefulSet(ctx, s, owned(s, pods.Items)))
		}
	}
	return errors.Join(errs...)
}

func owned(w client.Object, pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, w) })
}

// countDisruptions reports in the budgets how many nodes an eviction may take away.
func (c *cluster) countDisruptions(ctx context.Context, namespace string) error {
	var budgets policyv1.PodDisruptionBudgetList
	var pods corev1.PodList
	err := errors.Join(c.client.List(ctx, &budgets, client.InNamespace(namespace)), c.client.List(ctx, &pods, client.InNamespace(namespace)))
	for i := range budgets.Items {
		budget := &budgets.Items[i]
		selector, selectorErr := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if selectorErr != nil || !ownedByMemcached(budget) {
			continue
		}
		present := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, Conditions: budget.Status.Conditions}
		for _, pod := range pods.Items {
			if !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			present.ExpectedPods++
			if podReady(&pod) && pod.DeletionTimestamp == nil {
				present.CurrentHealthy++
			}
		}
		present.DesiredHealthy = max(present.ExpectedPods-int32(budget.Spec.MaxUnavailable.IntValue()), 0)
		present.DisruptionsAllowed = max(present.CurrentHealthy-present.DesiredHealthy, 0)
		err = errors.Join(err, report(ctx, c, budget, &budget.Status, present))
	}
	return err
}

// report writes the status of w to the API server if it has changed. The argument status points to the status in w.
func report[S any](ctx context.Context, c *cluster, w client.Object, status *S, present S) error {
	if equality.Semantic.DeepEqual(*status, present) {
		return nil
	}
	*status = present
	return c.client.Status().Update(ctx, w)
}

// newPod returns a pod of the workload w, but does not create the pod. For a Deployment, owner is a ReplicaSet, which need not exist. The
// pod's owner always gets the UID of w.
func newPod(w client.Object, owner metav1.OwnerReference, name string, template *corev1.PodTemplateSpec) *corev1.Pod {
	owner.APIVersion, owner.UID, owner.Controller = "apps/v1", w.GetUID(), ptr.To(true)
	container := template.Spec.Containers[0]
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.GetNamespace(), Name: name, Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.PodSpec{
			NodeName: "node", // the API server deletes a pod without a node at once, even with a grace period
			Containers: []corev1.Container{{
				Name: container.Name, Image: container.Image, Args: container.Args, Resources: container.Resources,
			}},
		},
	}
}

func podReady(pod *corev1.Pod) bool { return pod != nil && memcached.PodReady(pod) }

// templateHash returns the same in all namespaces.
func templateHash(template *corev1.PodTemplateSpec, namespace string) string {
	hash := fnv.New32a()
	hash.Write(differing.ReplaceAll(bytes.ReplaceAll(mustMarshal(template), []byte(namespace), nil), nil))
	return strconv.FormatUint(uint64(hash.Sum32()), 36)
}

// runDeployment rolls a Deployment out: it creates the pods of the current template, makes them ready, and deletes all other pods.
func (c *cluster) runDeployment(ctx context.Context, d *appsv1.Deployment, pods []corev1.Pod) error {
	hash, size := templateHash(&d.Spec.Template, d.Namespace), ptr.Deref(d.Spec.Replicas, 0)
	for i := range size {
		name := fmt.Sprintf("%s-%s-%d", d.Name, hash, i)
		pod := newPod(d, metav1.OwnerReference{Kind: "ReplicaSet", Name: d.Name + "-" + hash}, name, &d.Spec.Template)
		pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
		if at := slices.IndexFunc(pods, func(other corev1.Pod) bool { return other.Name == name }); at >= 0 {
			pod = &pods[at]
			pods = slices.Delete(slices.Clone(pods), at, at+1)
		} else if err := c.client.Create(ctx, pod); err != nil {
			return err
		}
		if !podReady(pod) {
			pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "192.0.2.1"
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			if err := c.client.Status().Update(ctx, pod); err != nil {
				return err
			}
		}
	}
	for i := range pods {
		if err := c.remove(ctx, []client.Object{&pods[i]}); err != nil {
			return err
		}
	}
	return report(ctx, c, d, &d.Status, appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: size, UpdatedReplicas: size, ReadyReplicas: size, AvailableReplicas: size,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		}},
	})
}

// statefulSet is one pass of a simulated StatefulSet controller and of the kubelets of its pods. It follows podManagementPolicy Parallel
// and the update strategy OnDelete.
type statefulSet struct {
	*cluster
	*appsv1.StatefulSet

	// revision is the name of the current template's revision. pods are the existing pods by ordinal.
	revision string
	pods     map[int]corev1.Pod
	// late reports that some pod has a new image, but kubeletDelay has not passed yet.
	late bool
}

// runStatefulSet creates missing pods and deletes surplus ones. A terminating pod keeps its ordinal.
func (c *cluster) runStatefulSet(ctx context.Context, set *appsv1.StatefulSet, pods []corev1.Pod) error {
	s := &statefulSet{
		cluster: c, StatefulSet: set, pods: map[int]corev1.Pod{}, revision: set.Name + "-" + templateHash(&set.Spec.Template, set.Namespace),
	}
	for _, pod := range pods {
		if ordinal, ok := memcached.Ordinal(&pod); ok {
			s.pods[ordinal] = pod
		}
	}
	for _, step := range []func(context.Context) error{s.report, s.fill, s.report} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if s.late {
		return errLate
	}
	return nil
}

// fill replaces missing and failed pods by pods of the current template, lets the kubelets act on all, and deletes surplus ones.
func (s *statefulSet) fill(ctx context.Context) error {
	size := int(ptr.Deref(s.Spec.Replicas, 1))
	for i := range size {
		pod, exists := s.pods[i]
		if exists && (pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil && !lost(&pod)) {
			if err := s.remove(ctx, []client.Object{&pod}); err != nil {
				return err
			}
			exists = false
		}
		if !exists {
			name := fmt.Sprintf("%s-%d", s.Name, i)
			pod = *newPod(s.StatefulSet, metav1.OwnerReference{Kind: "StatefulSet", Name: s.Name}, name, &s.Spec.Template)
			pod.Labels[appsv1.StatefulSetRevisionLabel], pod.Labels[appsv1.StatefulSetPodNameLabel] = s.revision, name
			if err := s.client.Create(ctx, &pod); err != nil {
				return err
			}
		}
		if pod.DeletionTimestamp == nil {
			if err := s.sync(ctx, &pod); err != nil {
				return err
			}
		}
		s.pods[i] = pod
	}
	for _, i := range slices.Sorted(maps.Keys(s.pods)) {
		if pod := s.pods[i]; i >= size {
			delete(s.pods, i)
			if err := s.remove(ctx, []client.Object{&pod}); err != nil {
				return err
			}
		}
	}
	return nil
}

// report writes the status as the StatefulSet controller would. With OnDelete, the current revision stays the first one.
func (s *statefulSet) report(ctx context.Context) error {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: s.Generation, Replicas: int32(len(s.pods)), CollisionCount: ptr.To(int32(0)),
		CurrentRevision: cmp.Or(s.Status.CurrentRevision, s.revision), UpdateRevision: s.revision,
	}
	for _, pod := range s.pods {
		revision, living := pod.Labels[appsv1.StatefulSetRevisionLabel], pod.DeletionTimestamp == nil
		for number, counts := range map[*int32]bool{
			&status.ReadyReplicas:     podReady(&pod),
			&status.AvailableReplicas: podReady(&pod),
			&status.CurrentReplicas:   revision == status.CurrentRevision && living,
			&status.UpdatedReplicas:   revision == s.revision && living,
		} {
			if counts {
				*number++
			}
		}
	}
	return report(ctx, s.cluster, s.StatefulSet, &s.Status, status)
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

// noticed maps the UID and generation of a pod to the time when the kubelet first saw the new image of this generation.
var noticed sync.Map

// sync does what the kubelet and memcached's parent do for a pod. The kubelet starts memcached, applies changed resources, and restarts
// memcached if the image has changed. The parent follows its entry.
func (s *statefulSet) sync(ctx context.Context, pod *corev1.Pod) error {
	container, found := pod.Spec.Containers[0], memcached.StatusOf(pod, memcached.ContainerName)
	status := corev1.ContainerStatus{
		Name: memcached.ContainerName, Image: container.Image, Resources: &container.Resources, Ready: container.Image != unreadyImage,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
	if found != nil {
		status.RestartCount, status.LastTerminationState = found.RestartCount, found.LastTerminationState
	}
	if found != nil && status.Image != found.Image {
		since, _ := noticed.LoadOrStore(fmt.Sprint(pod.UID, pod.Generation), time.Now())
		if time.Since(since.(time.Time)) < kubeletDelay {
			s.late = true
			return nil
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
		if err := s.client.Status().Update(ctx, pod); err != nil {
			return err
		}
	}
	_, err := follow(ctx, pod)
	return err
}

// lost reports whether the pod was evicted from a cluster node that does not report, so that no kubelet ends it.
func lost(pod *corev1.Pod) bool {
	disrupted := memcached.PodCondition(pod, corev1.DisruptionTarget)
	return disrupted != nil && disrupted.Reason == "DeletionByTaintManager"
}

// parents simulates memcached's parents in the pods of StatefulSets and of proxies. In these tests, a parent reads its entry when the
// simulated kubelet acts on its pod, and when the operator asks for its status.
type parents struct{}

// process is memcached in one pod.
type process struct {
	// list has the arguments in effect, and number is that of their entry, 0 for the arguments of the first start.
	list    protocol.List
	number  int64
	refused *protocol.Refusal
}

var (
	running = map[types.UID]process{}
	mutex   sync.Mutex
)

// refusedThreads is a number of threads with which the simulated memcached does not start.
const refusedThreads = 7

// Ask implements controllers.Nodes. There is no answer while memcached's container does not run.
func (parents) Ask(ctx context.Context, pod *corev1.Pod, _ int, _ ...string) (protocol.Status, error) {
	if pod.Labels[memcached.NameLabel] == memcached.ProxyName {
		return proxyStatus(ctx, pod)
	}
	if status := memcached.StatusOf(pod, memcached.ContainerName); status == nil || status.State.Running == nil {
		return protocol.Status{}, errors.New("connection refused")
	}
	p, err := follow(ctx, pod)
	return protocol.Status{Number: p.number, List: p.list, SecondsInEffect: 3600, Refused: p.refused}, err
}

// follow lets the parent of a pod read its entry, and returns what memcached then runs with.
func follow(ctx context.Context, pod *corev1.Pod) (process, error) {
	mutex.Lock()
	defer mutex.Unlock()
	p, started := running[pod.UID]
	if !started {
		p.list = memcached.FirstList(pod)
	}
	var config corev1.ConfigMap
	name := client.ObjectKey{Namespace: pod.Namespace, Name: cacheName + memcached.ArgumentsSuffix}
	if err := client.IgnoreNotFound(user.Get(ctx, name, &config)); err != nil {
		return p, err
	}
	switch entry := entryOf(&config, pod); {
	case entry.Number == 0 || entry.Number == p.number || p.refused != nil && p.refused.Number == entry.Number: // nothing new
	case entry.Value("-t") == strconv.Itoa(refusedThreads):
		p.refused = &protocol.Refusal{Number: entry.Number, Reason: "too many threads"}
	default:
		p.list, p.number, p.refused = entry.List, entry.Number, nil
	}
	running[pod.UID] = p
	return p, nil
}

// entryOf returns the entry for a pod, which is empty if there is none.
func entryOf(config *corev1.ConfigMap, pod *corev1.Pod) protocol.Entry {
	entry, err := protocol.ParseEntry(config.Data[pod.Name])
	if err != nil || entry.Pod != string(pod.UID) {
		return protocol.Entry{}
	}
	return entry
}

// proxyStatus answers as if each proxy had read the latest routes.
func proxyStatus(ctx context.Context, pod *corev1.Pod) (protocol.Status, error) {
	var config corev1.ConfigMap
	if err := user.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: routesName}, &config); err != nil {
		return protocol.Status{}, err
	}
	text := config.Data[protocol.RoutesKey]
	routes, err := protocol.ParseRoutes(text)
	return protocol.Status{Proxy: &protocol.ProxyStatus{Routes: text, Count: routes.Pool.At(clockOf(pod.Namespace).Now())}}, err
}

// ahead maps each namespace to how far its clock is ahead of the real time. The simulated proxies use this clock, and the operator uses
// it as the API server's time.
var ahead sync.Map

func clockOf(namespace string) clock.PassiveClock { return namespaceClock(namespace) }

type namespaceClock string

func (c namespaceClock) Now() time.Time {
	passed, _ := ahead.LoadOrStore(string(c), time.Duration(0))
	return time.Now().Add(passed.(time.Duration))
}

func (c namespaceClock) Since(earlier time.Time) time.Duration { return c.Now().Sub(earlier) }
