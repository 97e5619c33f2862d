// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/metrics"
	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/testenv/suite"
)

var (
	config *rest.Config
	// user is the client for all requests that the operator does not send.
	user client.Client
)

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "controllers")
}

var _ = BeforeSuite(func() { config, user = suite.Start() })

var defaults = memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"}

// operator is a Reconciler that a test runs step by step. It reads objects as if from a cache, which is current unless the test
// sets stale, or one of the fields outdated. Only requests that a cache cannot answer are recorded.
type operator struct {
	*controllers.Reconciler
	requests *testenv.Requests
	recorder *events.FakeRecorder
	registry *prometheus.Registry
	nodes    *agents
	clock    *clocktesting.FakePassiveClock
	// refuse is called before each write, unless it is nil. An error that it returns is the result of the write. Status is true
	// for a write to a subresource.
	refuse func(status bool) error
	// unreadable is the error of each get past the cache, or nil.
	unreadable error
	// result is the result of the last step or try.
	result reconcile.Result
	// stale hides all children, as a lagging cache may.
	stale bool
	// outdated is the Memcached in a lagging cache, or nil if the cache is current.
	outdated *cachev1alpha1.Memcached
	// outdatedPods are the pods in a lagging cache, or nil if the cache is current.
	outdatedPods []corev1.Pod
	// outdatedArguments is the ConfigMap with entries for parents in a lagging cache, or nil if the cache is current.
	outdatedArguments *corev1.ConfigMap
}

func newOperator(options memcached.Options) *operator {
	GinkgoHelper()
	o := &operator{
		requests: &testenv.Requests{},
		recorder: events.NewFakeRecorder(1000),
		registry: prometheus.NewRegistry(),
		clock:    clocktesting.NewFakePassiveClock(time.Now()),
	}
	o.nodes = &agents{clock: o.clock}
	writer, err := client.NewWithWatch(o.requests.Record(config), client.Options{Scheme: testenv.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	cached := interceptor.NewClient(writer, interceptor.Funcs{
		Get: o.get, List: o.list, Patch: o.patch, Delete: o.delete, SubResourcePatch: o.patchStatus,
	})
	live := interceptor.NewClient(writer, interceptor.Funcs{Get: o.getLive})
	o.Reconciler = controllers.NewReconciler(cached, live, o.recorder, metrics.New(o.registry), o.clock, options)
	o.Nodes = o.nodes
	return o
}

// get reads as if from the cache: it records no request, and does not find children without the label memcached.ManagedByLabel.
func (o *operator) get(
	ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption,
) error {
	mc, root := object.(*cachev1alpha1.Memcached)
	if root && o.outdated != nil {
		o.outdated.DeepCopyInto(mc)
		return nil
	}
	if config, ok := object.(*corev1.ConfigMap); ok && o.outdatedArguments != nil && key.Name == o.outdatedArguments.Name {
		o.outdatedArguments.DeepCopyInto(config)
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

// list lists as if from an index of the cache.
func (o *operator) list(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	name, _ := options.FieldSelector.RequiresExactMatch("instance")
	found := slices.DeleteFunc(slices.Clone(o.outdatedPods), func(pod corev1.Pod) bool { return pod.Labels[memcached.InstanceLabel] != name })
	if o.outdatedPods == nil {
		found = pods(ctx, options.Namespace, name)
	}
	list.(*corev1.PodList).Items = found
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

// step reconciles once. It expects success, exactly these writes, and no get past the cache but of what it then writes.
func (o *operator) step(ctx context.Context, mc *cachev1alpha1.Memcached, writes ...string) {
	GinkgoHelper()
	Expect(o.try(ctx, mc, writes...)).To(Succeed())
	for _, get := range o.requests.Gets() {
		Expect(writes).To(ContainElement(strings.Replace(strings.TrimSuffix(get, " (404)"), "get", "patch", 1)))
	}
}

// beginsAnew reconciles once. It expects that this writes nothing, tells nobody, and is repeated soon.
func (o *operator) beginsAnew(ctx context.Context, mc *cachev1alpha1.Memcached, refused ...string) {
	GinkgoHelper()
	before := status(ctx, mc)
	o.events()
	Expect(o.try(ctx, mc, refused...)).To(Succeed())
	Expect(o.result.RequeueAfter).To(Equal(time.Second))
	Expect(status(ctx, mc)).To(Equal(before))
	Expect(o.events()).To(BeEmpty())
}

// try reconciles once, and expects exactly these writes. It may fail, and may get objects past the cache.
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

func (o *operator) wait(d time.Duration) { o.clock.SetTime(o.clock.Now().Add(d)) }

// events returns the events since it was last called.
func (o *operator) events() []string { return suite.Events(o.recorder) }

// The operator's writes, in the form that testenv.Requests records.
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
	writeArguments   = writeConfigMap // the ConfigMap with entries for parents
	deleteArguments  = "delete configmaps"
	writePod         = "patch pods"
	writeResize      = "patch pods/resize"
	deletePod        = "delete pods"
	deleteService    = "delete services"
	deleteDeployment = "delete deployments"
)
