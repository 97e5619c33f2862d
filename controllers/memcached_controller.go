// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/agent/protocol"
	"github.com/example/memcached-operator/internal/apply"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
	"github.com/example/memcached-operator/internal/metrics"
)

// Bounds of the delay before a failed reconcile is retried. The operator must notice within a minute that the cause of a failure is gone,
// so lastRetry and one reconcile must take less than that.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 45 * time.Second
)

// DefaultConcurrentReconciles is the default number of workers. While a webhook does not answer, each Memcached that waits for it blocks
// one worker. With 20 such Memcacheds, four workers remain for others.
const DefaultConcurrentReconciles = 24

// Options configures the controller.
type Options struct {
	// Memcached holds the settings of this installation.
	Memcached memcached.Options
	// Nodes queries nodes. If it is nil, the operator connects to the addresses of the nodes' pods.
	Nodes Nodes
	// AskAgents makes the operator ask the nodes' agents about problems.
	AskAgents bool
	// ServerClock is the clock for comparisons with times in objects. If it is nil, the operator uses this machine's clock.
	ServerClock clock.PassiveClock
	// MaxConcurrentReconciles is how many Memcacheds are reconciled at the same time.
	MaxConcurrentReconciles int
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;list;patch

// Reconcile brings the children of a Memcached in line with its spec, and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	mc, err := r.Get(ctx, request.NamespacedName)
	if err != nil {
		return Retry(err)
	}
	if mc == nil {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	view, err := r.observe(ctx, mc)
	if err != nil {
		return Retry(r.reportUnobserved(ctx, view, err))
	}
	plan, changes, err := r.plan(ctx, &view)
	if err != nil {
		return Retry(r.reportUnobserved(ctx, view, err))
	}
	written := r.write(ctx, view, plan, changes)
	r.metrics.Reconciled(resultOf(written))
	if r.IsTransient(request.NamespacedName, written) {
		return Retry(written.Err)
	}
	current := status.For(view, plan, written)
	wait, err := r.report(ctx, mc, current, written)
	switch {
	case err != nil:
		return Retry(err) // written.Err is not joined: a terminal error would prevent the retry
	case wait > 0:
		return reconcile.Result{RequeueAfter: memcached.Sooner(wait, nextStep(view, plan, progress(current.Conditions)))}, nil
	}
	return requeue(view, plan, written, current)
}

// SetupWithManager adds the controller and its field indexes to a manager. If options.AskAgents is set, it also adds a task that asks the
// nodes' agents. The controller updates the metrics m. The manager's cache must use CacheOptions.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, m *metrics.Metrics, options Options) error {
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(memcached.ManagedBy), m, clock.RealClock{}, options.Memcached)
	r.Nodes, r.ServerClock = cmp.Or(options.Nodes, r.Nodes), cmp.Or(options.ServerClock, r.ServerClock)
	if !options.AskAgents {
		r.agents = nil
	} else if err := mgr.Add(manager.RunnableFunc(r.runAgentPolls)); err != nil {
		return err
	}
	kind := cachev1alpha1.GroupVersion.WithKind("Memcached") // otherwise, the cache would wait for the CRD without end
	if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return err
	}
	if err := indexFields(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	builder := ctrl.NewControllerManagedBy(mgr).Named("memcached").WithOptions(controller.Options{
		MaxConcurrentReconciles: options.MaxConcurrentReconciles,
		// A standby fills its caches before it becomes the leader.
		EnableWarmup: ptr.To(true),
		// Applier.Apply writes one object after the other, and each may have to wait 30 s for a webhook.
		ReconciliationTimeout: 90 * time.Second,
		RateLimiter:           RateLimiter(),
	})
	for _, source := range r.sources(mgr.GetCache()) {
		builder = builder.WatchesRawSource(source)
	}
	return builder.Complete(retryingLater(r))
}

// retryingLater gives retries a lower priority than new work.
func retryingLater(r reconcile.Reconciler) reconcile.Func {
	return func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if err != nil {
			result.Priority = ptr.To(failedPriority)
		}
		return result, err
	}
}

// sources returns the event sources of the controller. At the start, each Memcached is enqueued. Existing children and pods
// enqueue nothing, because the caches hold them before the first reconcile.
func (r *Reconciler) sources(c cache.Cache) []source.Source {
	sources := []source.Source{
		source.Kind[client.Object](c, &cachev1alpha1.Memcached{}, r.memcacheds()),
		source.Kind[client.Object](c, &corev1.Pod{}, watch(debounce, podChange, memcachedsOf)),
	}
	for _, child := range memcached.Kinds() {
		sources = append(sources, source.Kind(c, child.New(), watch(0, childChange(child), memcachedsOf)))
	}
	if r.agents != nil {
		sources = append(sources, r.agents.source())
	}
	return sources
}

// RateLimiter returns the exponential backoff for failed reconciles.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}

// Reconciler reconciles Memcached resources.
type Reconciler struct {
	// Client reads from the cache and writes to the API server. Live reads from the API server.
	Client   client.Client
	Live     client.Reader
	Applier  *apply.Applier
	Nodes    Nodes
	Recorder events.EventRecorder
	// Clock measures elapsed time. ServerClock shows the API server's time, for comparison with the times in objects.
	Clock, ServerClock clock.PassiveClock
	Options            memcached.Options

	metrics *metrics.Metrics
	agents  *agents
	known   states[known]
	states  states[instanceState]
	// refusals limits the reads of events.
	refusals *rate.Limiter
}

// NewReconciler returns a Reconciler that reads from the cache and writes with c, and reads from the API server with live. It uses the
// given clock for both of its clocks, and its Nodes connect to the addresses of pods.
func NewReconciler(
	c client.Client, live client.Reader, recorder events.EventRecorder, m *metrics.Metrics, clock clock.PassiveClock,
	options memcached.Options,
) *Reconciler {
	return &Reconciler{
		Client: c, Live: live, Nodes: nodes{client: protocol.NewClient()}, Recorder: recorder,
		Clock: clock, ServerClock: clock, Options: options,
		Applier: &apply.Applier{
			Client: c, Live: live, Clock: clock, FieldOwner: memcached.ManagedBy, HashAnnotation: memcached.AppliedHashAnnotation,
			Identity: func(owner, object client.Object) map[string]string {
				return memcached.IdentityOf(owner.GetName(), object)
			},
			Rules: memcached.FieldRules,
		},
		metrics: m, agents: newAgents(), refusals: rate.NewLimiter(refusalReads, refusalReads),
	}
}
