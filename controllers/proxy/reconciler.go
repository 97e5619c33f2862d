// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// Reconciler reconciles MemcachedProxy resources.
type Reconciler struct {
	*controllers.Base[*cachev1alpha1.MemcachedProxy]
}

var proxyKind = controllers.Kind[*cachev1alpha1.MemcachedProxy]{
	Name:       "MemcachedProxy",
	New:        func() *cachev1alpha1.MemcachedProxy { return &cachev1alpha1.MemcachedProxy{} },
	NewList:    func() client.ObjectList { return &cachev1alpha1.MemcachedProxyList{} },
	Children:   memcachedproxy.Children,
	IdentityOf: memcachedproxy.IdentityOf,
	Status:     func(proxy *cachev1alpha1.MemcachedProxy) any { return proxy.Status },
}

// NewReconciler returns a Reconciler that reads from the cache and writes with c, and reads from the API server with live.
func NewReconciler(
	c client.Client, live client.Reader, recorder events.EventRecorder, clock clock.PassiveClock, options memcached.Options,
) *Reconciler {
	return &Reconciler{controllers.NewBase(proxyKind, c, live, recorder, clock, options)}
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcachedproxies,verbs=list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcachedproxies/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcachedproxies/finalizers,verbs=update

// Reconcile brings the children of a MemcachedProxy in line with its spec, and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	proxy, err := r.Get(ctx, request.NamespacedName)
	if err != nil {
		return controllers.Retry(err)
	}
	if proxy == nil {
		r.Forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	view, err := r.observe(ctx, proxy)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := memcachedproxy.For(view, r.Options)
	view.Answers = r.ask(ctx, plan.Ask)
	written := r.write(ctx, view, plan)
	if r.IsTransient(request.NamespacedName, written) {
		return controllers.Retry(written.Err)
	}
	status := memcachedproxy.StatusFor(view, plan, written)
	if err := r.report(ctx, proxy, status); err != nil {
		return controllers.Retry(err) // written.Err is not joined: a terminal error would prevent the retry
	}
	return requeue(view, plan, written, status)
}

// askInterval is how often parents are asked for their routes: no event reports that the kubelet has delivered new routes. Otherwise,
// they are asked every restInterval, because no event reports that a proxy cannot use a node.
const askInterval, restInterval = 5 * time.Second, 20 * time.Second

func (r *Reconciler) ask(ctx context.Context, pods []*corev1.Pod) map[types.UID]memcachedproxy.Answer {
	return controllers.AskAll(pods, controllers.AskedAtOnce, func(pod *corev1.Pod) memcachedproxy.Answer {
		status, err := r.Nodes.Ask(ctx, pod, memcached.ParentPort)
		switch {
		case err != nil:
			return memcachedproxy.Answer{Failure: err.Error()}
		case status.Proxy == nil:
			return memcachedproxy.Answer{Failure: "the answer is not that of a proxy"}
		}
		return memcachedproxy.Answer{Status: *status.Proxy}
	})
}

// requeue returns the result of Reconcile. No event reports that an announced number of nodes takes effect, or that a proxy has been silent
// for too long. So Reconcile runs again at these times. While a change of the routes is unfinished, it also runs every askInterval, unless
// it only waits for an announced number to take effect.
func requeue(
	view memcachedproxy.View, plan memcachedproxy.Plan, written memcached.Written, status cachev1alpha1.MemcachedProxyStatus,
) (reconcile.Result, error) {
	wait := memcached.Sooner(plan.Next, view.SilentFor())
	if len(view.Answers) > 0 {
		wait = memcached.Sooner(wait, restInterval)
	}
	if routes := status.Routes; routes != nil && routes.Proxies != nil && (*routes.Proxies < status.ReadyReplicas || routes.Next == nil) {
		wait = memcached.Sooner(wait, askInterval)
	}
	return controllers.Requeue(wait, written)
}

// SetupWithManager adds the controller to a manager that already has the controller for Memcacheds, because both use one index of pods.
func SetupWithManager(mgr ctrl.Manager, options controllers.Options) error {
	kind := cachev1alpha1.GroupVersion.WithKind("MemcachedProxy")
	if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return fmt.Errorf("find the CRD of this version: %w", err)
	}
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(memcached.ManagedBy), clock.RealClock{}, options.Memcached)
	r.Use(options)
	sources := []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &cachev1alpha1.MemcachedProxy{},
			controllers.Owners(proxyKind.Status)),
		source.Kind[client.Object](mgr.GetCache(), &cachev1alpha1.Memcached{}, r.memcacheds()),
		source.Kind(mgr.GetCache(), &corev1.Pod{}, controllers.Pods(instanceOf)),
	}
	for _, child := range memcachedproxy.Children {
		sources = append(sources, source.Kind(mgr.GetCache(), child.New(), r.children(child)))
	}
	return controllers.AddController(mgr, "memcachedproxy", options, r, sources)
}
