// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	environment *envtest.Environment
	config      *rest.Config
	// user is everybody but the operator.
	user client.Client
)

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "controllers")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(time.Minute)
	EnforceDefaultTimeoutsWhenUsingContexts()
	ctrl.SetLogger(GinkgoLogr)
	environment = testenv.New()
	var err error
	config, err = environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(environment.Stop()).To(Succeed()) })
	config.QPS = -1
	user, err = client.New(config, client.Options{Scheme: testenv.Scheme()})
	Expect(err).NotTo(HaveOccurred())
})

var defaults = memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"}

// operator is a Reconciler whose steps the tests take one by one. Its cache is always up to date unless a test says
// otherwise, and its requests past the cache are recorded.
type operator struct {
	*controllers.Reconciler
	requests *testenv.Requests
	recorder *events.FakeRecorder
	registry *prometheus.Registry
	nodes    *launchers
	clock    *clocktesting.FakePassiveClock
	// refuse, if it is set, answers writes of children, deletions, and writes of the status, in the place of the API server.
	refuse func(status bool) error
	// unreadable, if it is set, answers reads past the cache in the place of the API server.
	unreadable error
	// result is that of the last step.
	result reconcile.Result
	// stale hides what was written since, as a cache that lags does.
	stale bool
	// outdated, if it is set, is the Memcached in a cache that lags.
	outdated *cachev1alpha1.Memcached
	// outdatedPods, if it is set, are the pods in a cache that lags.
	outdatedPods []corev1.Pod
}

func newOperator(options memcached.Options) *operator {
	GinkgoHelper()
	o := &operator{
		requests: &testenv.Requests{},
		recorder: events.NewFakeRecorder(1000),
		registry: prometheus.NewRegistry(),
		nodes:    &launchers{},
		clock:    clocktesting.NewFakePassiveClock(time.Now()),
	}
	writer, err := client.NewWithWatch(o.requests.Record(config), client.Options{Scheme: testenv.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	cached := interceptor.NewClient(writer, interceptor.Funcs{
		Get: o.get, List: o.list, Patch: o.patch, Delete: o.delete, SubResourcePatch: o.patchStatus,
	})
	live := interceptor.NewClient(writer, interceptor.Funcs{Get: o.getLive})
	o.Reconciler = controllers.NewReconciler(cached, live, o.recorder, metrics.New(o.registry), o.clock, options)
	o.UseNodes(o.nodes)
	return o
}

// get reads as from the cache: without a request that counts, and without objects that lack the label.
func (o *operator) get(
	ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption,
) error {
	mc, root := object.(*cachev1alpha1.Memcached)
	if root && o.outdated != nil {
		o.outdated.DeepCopyInto(mc)
		return nil
	}
	if err := user.Get(ctx, key, object, opts...); err != nil {
		return err
	}
	if !root && (o.stale || object.GetLabels()[memcached.ManagedByLabel] != memcached.ManagedBy) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

// getLive reads past the cache.
func (o *operator) getLive(
	ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption,
) error {
	if o.unreadable != nil {
		return o.unreadable
	}
	return c.Get(ctx, key, object, opts...)
}

// list reads as from the index of the cache.
func (o *operator) list(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	name, _ := options.FieldSelector.RequiresExactMatch("instance")
	list.(*corev1.PodList).Items = o.outdatedPods
	if o.outdatedPods == nil {
		list.(*corev1.PodList).Items = pods(ctx, options.Namespace, name)
	}
	return nil
}

func (o *operator) patch(
	ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	if o.refuse != nil {
		if err := o.refuse(false); err != nil {
			return err
		}
	}
	return c.Patch(ctx, object, patch, opts...)
}

func (o *operator) delete(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
	if o.refuse != nil {
		if err := o.refuse(false); err != nil {
			return err
		}
	}
	return c.Delete(ctx, object, opts...)
}

func (o *operator) patchStatus(
	ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	if o.refuse != nil {
		if err := o.refuse(true); err != nil {
			return err
		}
	}
	return c.SubResource(name).Patch(ctx, object, patch, opts...)
}

// step reconciles once and expects exactly these writes past the cache, and no reads.
func (o *operator) step(ctx context.Context, mc *cachev1alpha1.Memcached, writes ...string) {
	GinkgoHelper()
	Expect(o.try(ctx, mc, writes...)).To(Succeed())
	Expect(o.requests.Gets()).To(BeEmpty())
}

// try is a step that may fail.
func (o *operator) try(ctx context.Context, mc *cachev1alpha1.Memcached, writes ...string) error {
	GinkgoHelper()
	o.requests.Reset()
	var err error
	o.result, err = o.Reconcile(ctx, request(mc))
	Expect(o.requests.Writes()).To(ConsistOf(writes), "after %v", err)
	return err
}

func request(mc *cachev1alpha1.Memcached) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mc)}
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

// The writes of the operator.
const (
	writeService     = "patch services"
	writeBudget      = "patch poddisruptionbudgets"
	writeDeployment  = "patch deployments"
	writeStatefulSet = "patch statefulsets"
	writeStatus      = "patch memcacheds/status"
	deleteBudget     = "delete poddisruptionbudgets"
	writePolicy      = "patch networkpolicies"
	deletePolicy     = "delete networkpolicies"
	writeConfigMap   = "patch configmaps"
	writeArguments   = writeConfigMap // the one with the arguments of a StatefulSet's nodes
	deleteConfigMap  = "delete configmaps"
	deletePod        = "delete pods"
)

var namespaces int

// newNamespace creates a namespace for one test.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespaces++
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("test-%d", namespaces)}}
	Expect(user.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// newMemcached creates a Memcached in a namespace of its own.
func newMemcached(ctx context.Context, size int32, changes ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	GinkgoHelper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(ctx), Name: "cache"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size},
	}
	for _, change := range changes {
		change(mc)
	}
	Expect(user.Create(ctx, mc)).To(Succeed())
	// A manager of a later test watches everything.
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(user.Delete(ctx, mc))).To(Succeed()) })
	return mc
}

// change changes an object as a user would.
func change[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	change(object)
	Expect(user.Patch(ctx, object, client.MergeFrom(before), client.FieldOwner("user"))).To(Succeed())
}

// live reads the object of a kind that bears the name of a Memcached.
func live[T client.Object](ctx context.Context, mc *cachev1alpha1.Memcached, object T) T {
	GinkgoHelper()
	Expect(user.Get(ctx, client.ObjectKeyFromObject(mc), object)).To(Succeed())
	return object
}

// status reads the status.
func status(ctx context.Context, mc *cachev1alpha1.Memcached) cachev1alpha1.MemcachedStatus {
	GinkgoHelper()
	return live(ctx, mc, &cachev1alpha1.Memcached{}).Status
}

// summary is a condition in the form True/AllNodesReady.
func summary(ctx context.Context, mc *cachev1alpha1.Memcached, conditionType string) string {
	GinkgoHelper()
	condition := meta.FindStatusCondition(status(ctx, mc).Conditions, conditionType)
	if condition == nil {
		return "absent"
	}
	return string(condition.Status) + "/" + condition.Reason
}

// expectConditions expects the conditions Ready, Available, Progressing and Degraded, in the form True/AllNodesReady.
func expectConditions(ctx context.Context, mc *cachev1alpha1.Memcached, ready, available, progressing, degraded string) {
	GinkgoHelper()
	current := live(ctx, mc, &cachev1alpha1.Memcached{})
	summaries := map[string]string{}
	for _, condition := range current.Status.Conditions {
		summaries[condition.Type] = string(condition.Status) + "/" + condition.Reason
		Expect(condition.ObservedGeneration).To(Equal(current.Generation))
	}
	expected := map[string]string{"Ready": ready, "Available": available, "Progressing": progressing, "Degraded": degraded}
	stalled := !strings.HasPrefix(progressing, "True/") && (strings.HasPrefix(degraded, "True/") || progressing == "False/Stuck")
	if reason, unready := strings.CutPrefix(ready, "False/"); unready {
		expected[map[bool]string{true: "Stalled", false: "Reconciling"}[stalled]] = "True/" + reason
	}
	Expect(summaries).To(Equal(expected))
	Expect(current.Status.ObservedGeneration).To(Equal(current.Generation))
}

// message is the message of a condition.
func message(ctx context.Context, mc *cachev1alpha1.Memcached, conditionType string) string {
	GinkgoHelper()
	condition := meta.FindStatusCondition(status(ctx, mc).Conditions, conditionType)
	Expect(condition).NotTo(BeNil())
	return condition.Message
}
