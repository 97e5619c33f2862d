// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
	"github.com/example/memcached-operator/controllers/proxy"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/testenv"
	"github.com/example/memcached-operator/test/testenv/suite"
)

var (
	config *rest.Config
	// user is the client for all requests that the operator does not send.
	user client.Client
)

func TestProxy(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "controllers/proxy")
}

var _ = BeforeSuite(func() { config, user = suite.Start() })

var defaults = memcached.Options{DefaultImage: "memcached:1.6.45", AgentImage: "memcached-operator:1"}

// The operator's writes, in the form that testenv.Requests records.
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

// operator is a Reconciler that a test runs step by step. It reads objects as if from a cache, which is current unless the test
// sets lagging. Only requests that a cache cannot answer are recorded.
type operator struct {
	*proxy.Reconciler
	requests *testenv.Requests
	recorder *events.FakeRecorder
	clock    *clocktesting.FakePassiveClock
	// result is the result of the last step or try.
	result  reconcile.Result
	proxies *parents
	// lagging is the old version of an object in a lagging cache, or nil if the cache is current.
	lagging client.Object
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
	o.Reconciler = proxy.NewReconciler(cached, writer, o.recorder, o.clock, options)
	o.proxies = &parents{clock: o.clock, former: map[string]string{}, missed: map[string]string{}}
	o.Nodes = o.proxies
	return o
}

// parents imitates the parents of proxies. The field former maps names of pods to routes: the parents of these pods still have
// these old routes. All other parents have the routes in the ConfigMap. missed maps names of pods to what they say of their nodes.
type parents struct {
	clock          *clocktesting.FakePassiveClock
	former, missed map[string]string
	mutex          sync.Mutex
	asked          int
}

// Ask implements controllers.Nodes.
func (p *parents) Ask(ctx context.Context, pod *corev1.Pod, _ int, _ ...string) (protocol.Status, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.asked++
	text, found := p.former[pod.Name]
	if !found {
		var routes corev1.ConfigMap
		if err := user.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: "front-routes"}, &routes); err != nil {
			return protocol.Status{}, err
		}
		text = routes.Data["routes"]
	}
	routes, err := protocol.ParseRoutes(text)
	status := &protocol.ProxyStatus{Routes: text, Count: routes.Pool.At(p.clock.Now()), Missed: p.missed[pod.Name]}
	return protocol.Status{Proxy: status}, err
}

// get reads as if from the cache: it records no request, and does not find children without the label memcached.ManagedByLabel.
func (o *operator) get(
	ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption,
) error {
	if old := o.lagging; old != nil && reflect.TypeOf(old) == reflect.TypeOf(object) && old.GetName() == key.Name {
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(old.DeepCopyObject()).Elem())
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

// list lists pods as if from the index of the cache.
func list(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	name, _ := options.FieldSelector.RequiresExactMatch("instance")
	return user.List(ctx, list, client.InNamespace(options.Namespace), client.MatchingLabels{memcached.InstanceLabel: name})
}

// step reconciles once. It expects success, exactly these writes, and no more gets past the cache than that.
func (o *operator) step(ctx context.Context, front *cachev1alpha1.MemcachedProxy, writes ...string) {
	GinkgoHelper()
	Expect(o.try(ctx, front, writes...)).To(Succeed())
	Expect(len(o.requests.Gets())).To(BeNumerically("<=", max(len(writes), 1)))
}

func (o *operator) try(ctx context.Context, front *cachev1alpha1.MemcachedProxy, writes ...string) error {
	GinkgoHelper()
	o.requests.Reset()
	var err error
	o.result, err = o.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(front)})
	Expect(o.requests.Writes()).To(ConsistOf(writes), "after %v", err)
	return err
}

func (o *operator) wait(d time.Duration) { o.clock.SetTime(o.clock.Now().Add(d)) }

// events returns the events since it was last called.
func (o *operator) events() []string { return suite.Events(o.recorder) }
