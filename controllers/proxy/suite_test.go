// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers/proxy"
	agentprotocol "github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	config *rest.Config
	// user is everybody but the operator.
	user client.Client
)

func TestProxy(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "controllers/proxy")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(time.Minute)
	EnforceDefaultTimeoutsWhenUsingContexts()
	ctrl.SetLogger(GinkgoLogr)
	environment := testenv.New()
	var err error
	config, err = environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(environment.Stop()).To(Succeed()) })
	config.QPS = -1
	user, err = client.New(config, client.Options{Scheme: testenv.Scheme()})
	Expect(err).NotTo(HaveOccurred())
})

var defaults = memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"}

// The writes of the operator.
const (
	writeService    = "patch services"
	writeBudget     = "patch poddisruptionbudgets"
	deleteBudget    = "delete poddisruptionbudgets"
	writePolicy     = "patch networkpolicies"
	deletePolicy    = "delete networkpolicies"
	writeConfigMap  = "patch configmaps"
	writeDeployment = "patch deployments"
	writeStatus     = "patch memcachedproxies/status"
)

// operator is a Reconciler whose steps the tests take one by one. Its cache is up to date but for what the tests say, and its requests
// past the cache are recorded.
type operator struct {
	*proxy.Reconciler
	requests *testenv.Requests
	recorder *events.FakeRecorder
	clock    *clocktesting.FakePassiveClock
	// result is that of the last step.
	result reconcile.Result
	// proxies are the launchers of the proxies.
	proxies *launchers
	// routes, if it is set, is the ConfigMap in a cache that lags.
	routes *corev1.ConfigMap
}

func newOperator(options memcached.Options) *operator {
	GinkgoHelper()
	o := &operator{
		requests: &testenv.Requests{}, recorder: events.NewFakeRecorder(1000),
		clock: clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second)),
	}
	writer, err := client.NewWithWatch(o.requests.Record(config), client.Options{Scheme: testenv.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	cached := interceptor.NewClient(writer, interceptor.Funcs{Get: o.get, List: list})
	o.Reconciler = proxy.NewReconciler(cached, writer, o.recorder, o.clock, o.clock, options)
	o.proxies = &launchers{clock: o.clock, former: map[string]string{}}
	o.UseNodes(o.proxies)
	return o
}

// launchers answer as if the kubelet had just brought the ConfigMap, but for the pods with former routes.
type launchers struct {
	clock  *clocktesting.FakePassiveClock
	former map[string]string
	mutex  sync.Mutex
	asked  int
}

// Launcher implements controllers.Nodes.
func (*launchers) Launcher(context.Context, *corev1.Pod) (protocol.Status, error) {
	return protocol.Status{}, errors.ErrUnsupported
}

// Agent implements controllers.Nodes.
func (*launchers) Agent(context.Context, *corev1.Pod, []string) (agentprotocol.Status, error) {
	return agentprotocol.Status{}, errors.ErrUnsupported
}

// Proxy implements controllers.Nodes.
func (l *launchers) Proxy(ctx context.Context, pod *corev1.Pod) (protocol.ProxyStatus, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.asked++
	text, found := l.former[pod.Name]
	if !found {
		var routes corev1.ConfigMap
		if err := user.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: "front-routes"}, &routes); err != nil {
			return protocol.ProxyStatus{}, err
		}
		text = routes.Data["routes"]
	}
	routes, err := protocol.ParseRoutes(text)
	return protocol.ProxyStatus{Routes: text, Count: routes.Pool.At(l.clock.Now())}, err
}

// get reads as from the cache: without a request that counts, and without objects that lack the label.
func (o *operator) get(
	ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption,
) error {
	if routes, ok := object.(*corev1.ConfigMap); ok && o.routes != nil {
		o.routes.DeepCopyInto(routes)
		return nil
	}
	if err := user.Get(ctx, key, object, opts...); err != nil {
		return err
	}
	switch object.(type) {
	case *cachev1alpha1.Memcached, *cachev1alpha1.MemcachedProxy:
		return nil
	}
	if object.GetLabels()[memcached.ManagedByLabel] != memcached.ManagedBy {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

// list reads pods as from the index of the cache.
func list(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	name, _ := options.FieldSelector.RequiresExactMatch("instance")
	return user.List(ctx, list, client.InNamespace(options.Namespace), client.MatchingLabels{memcached.InstanceLabel: name})
}

// step reconciles once and expects exactly these writes past the cache, and these reads of single objects.
func (o *operator) step(ctx context.Context, front *cachev1alpha1.MemcachedProxy, writes ...string) {
	GinkgoHelper()
	Expect(o.try(ctx, front, writes...)).To(Succeed())
	Expect(o.requests.Gets()).To(BeEmpty())
}

func (o *operator) try(ctx context.Context, front *cachev1alpha1.MemcachedProxy, writes ...string) error {
	GinkgoHelper()
	o.requests.Reset()
	var err error
	o.result, err = o.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(front)})
	Expect(o.requests.Writes()).To(ConsistOf(writes), "after %v", err)
	return err
}

// wait lets time pass.
func (o *operator) wait(d time.Duration) { o.clock.SetTime(o.clock.Now().Add(d)) }

// events returns the events since it was last called.
func (o *operator) events() []string {
	var sent []string
	for {
		select {
		case event := <-o.recorder.Events:
			sent = append(sent, event)
		default:
			return sent
		}
	}
}

var namespaces int

// newNamespace creates a namespace for one test.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespaces++
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("test-%d", namespaces)}}
	Expect(user.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// newPool creates a Memcached with servers, as the operator reports it.
func newPool(ctx context.Context, namespace string, size int32) *cachev1alpha1.Memcached {
	GinkgoHelper()
	return newPoolNamed(ctx, namespace, "sessions", size)
}

func newPoolNamed(ctx context.Context, namespace, name string, size int32) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	mc.Spec = cachev1alpha1.MemcachedSpec{Size: size, Workload: cachev1alpha1.WorkloadStatefulSet}
	create(ctx, mc)
	resize(ctx, mc, size)
	return mc
}

// resize changes the size of a pool, and reports its servers.
func resize(ctx context.Context, mc *cachev1alpha1.Memcached, size int32) {
	GinkgoHelper()
	change(ctx, mc, func(mc *cachev1alpha1.Memcached) { mc.Spec.Size = size })
	mc.Status.ObservedGeneration, mc.Status.Servers = mc.Generation, nil
	for i := range size {
		mc.Status.Servers = append(mc.Status.Servers, fmt.Sprintf("%s-%d.%s.%s.svc:11211", mc.Name, i, mc.Name, mc.Namespace))
	}
	Expect(user.Status().Update(ctx, mc)).To(Succeed())
}

func newProxy(ctx context.Context, namespace string, changes ...func(*cachev1alpha1.MemcachedProxy)) *cachev1alpha1.MemcachedProxy {
	GinkgoHelper()
	front := &cachev1alpha1.MemcachedProxy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"}}
	front.Spec.Pools = []cachev1alpha1.MemcachedProxyPool{{Name: "sessions"}}
	for _, change := range changes {
		change(front)
	}
	create(ctx, front)
	return front
}

// create creates an object until the end of the spec.
func create(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Expect(user.Create(ctx, object)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(user.Delete(ctx, object))).To(Succeed()) })
}

// change changes an object as a user would.
func change[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	change(object)
	Expect(user.Patch(ctx, object, client.MergeFrom(before), client.FieldOwner("user"))).To(Succeed())
}

// live reads the object of a kind that bears the name of a MemcachedProxy, and a suffix.
func live[T client.Object](ctx context.Context, front *cachev1alpha1.MemcachedProxy, object T, suffix string) T {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKey{Namespace: front.Namespace, Name: front.Name + suffix}, object)).To(Succeed())
	return object
}

func routes(ctx context.Context, front *cachev1alpha1.MemcachedProxy) string {
	GinkgoHelper()
	return live(ctx, front, &corev1.ConfigMap{}, "-routes").Data["routes"]
}

// rollOut does what the Deployment controller, the scheduler and the kubelet do, all at once.
func rollOut(ctx context.Context, front *cachev1alpha1.MemcachedProxy) {
	GinkgoHelper()
	deployment := live(ctx, front, &appsv1.Deployment{}, "")
	size, hash := *deployment.Spec.Replicas, fmt.Sprintf("rev%d", deployment.Generation)
	Expect(user.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(front.Namespace), client.GracePeriodSeconds(0))).To(Succeed())
	for i := range size {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("front-%s-%d", hash, i), Namespace: front.Namespace, Labels: memcachedproxy.SelectorLabels(front),
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "front-" + hash, UID: "replicaset", Controller: ptr.To(true),
				}},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "memcached"}}},
		}
		pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
		Expect(user.Create(ctx, pod)).To(Succeed())
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		Expect(user.Status().Update(ctx, pod)).To(Succeed())
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: size, UpdatedReplicas: size, ReadyReplicas: size, AvailableReplicas: size,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
		}},
	}
	Expect(user.Status().Update(ctx, deployment)).To(Succeed())
}

// converged creates a MemcachedProxy with its pool of 3 and takes the steps until it is Ready.
func converged(ctx context.Context, o *operator) (*cachev1alpha1.MemcachedProxy, *cachev1alpha1.Memcached) {
	GinkgoHelper()
	namespace := newNamespace(ctx)
	pool := newPool(ctx, namespace, 3)
	front := newProxy(ctx, namespace)
	o.step(ctx, front, writeService, writeBudget, writeConfigMap, writeDeployment, writeStatus)
	rollOut(ctx, front)
	o.step(ctx, front, writeStatus)
	expectConditions(ctx, front, "True/AllProxiesReady", "True/ProxiesReady", "False/Complete", "False/AsExpected")
	o.events()
	return front, pool
}

// expectConditions expects the conditions Ready, Available, Progressing and Degraded.
func expectConditions(ctx context.Context, front *cachev1alpha1.MemcachedProxy, conditions ...string) {
	GinkgoHelper()
	status := live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status
	var got []string
	for _, condition := range status.Conditions[:4] {
		got = append(got, string(condition.Status)+"/"+condition.Reason)
	}
	Expect(got).To(Equal(conditions), "%v", status.Conditions[0].Message)
}

// pods are the names of the pods.
func pods(ctx context.Context, front *cachev1alpha1.MemcachedProxy) (names []string) {
	GinkgoHelper()
	var found corev1.PodList
	Expect(user.List(ctx, &found, client.InNamespace(front.Namespace))).To(Succeed())
	for i := range found.Items {
		names = append(names, found.Items[i].Name)
	}
	return names
}

// message is that of the condition Progressing.
func message(ctx context.Context, front *cachev1alpha1.MemcachedProxy) string {
	GinkgoHelper()
	status := live(ctx, front, &cachev1alpha1.MemcachedProxy{}, "").Status
	return meta.FindStatusCondition(status.Conditions, cachev1alpha1.ConditionProgressing).Message
}
