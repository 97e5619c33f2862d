// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// poolIndex is the name of the index of MemcachedProxies by the Memcacheds that they route to.
const poolIndex = "pool"

// Options configures the controller.
type Options struct {
	controllers.Options
	// Namespace is the namespace to serve, empty for all.
	Namespace string
	// Retry is the interval between checks for a missing CRD.
	Retry time.Duration
}

// DefaultRetry is the default interval between checks for a missing CRD.
const DefaultRetry = 30 * time.Second

// SetupWithManager registers the controller with a manager that already has the controller for Memcacheds, because both use one
// index of pods. The new controller starts when the CRD of MemcachedProxies exists and the operator may read them. With the manifests
// of an earlier version, it never starts, and the operator serves only Memcacheds.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	return mgr.Add(&starter{mgr: mgr, options: options})
}

// starter adds the controller to its manager when the CRD is served.
type starter struct {
	mgr     ctrl.Manager
	options Options
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. The starter runs in a standby, too, so that the standby fills its caches.
func (*starter) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *starter) Start(ctx context.Context) error {
	told := false
	err := wait.PollUntilContextCancel(ctx, s.options.Retry, true, func(ctx context.Context) (bool, error) {
		err := s.served(ctx)
		if err != nil && !told {
			ctrl.Log.Info("Not serving MemcachedProxies yet: their CRD or the permission to read it is missing; Memcacheds are served",
				"retryEvery", s.options.Retry.String(), "error", err.Error())
			told = true
		}
		return err == nil, nil
	})
	if err != nil {
		return nil //nolint:nilerr // the process is told to end
	}
	if told {
		ctrl.Log.Info("Serving MemcachedProxies now")
	}
	return s.add(ctx)
}

// served returns nil if MemcachedProxies can be read, else the reason why not.
func (s *starter) served(ctx context.Context) error {
	return s.mgr.GetAPIReader().List(ctx, &cachev1alpha1.MemcachedProxyList{}, client.InNamespace(s.options.Namespace), client.Limit(1))
}

func (s *starter) add(ctx context.Context) error {
	mgr := s.mgr
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(memcached.ManagedBy), clock.RealClock{}, s.options.Memcached)
	if s.options.Nodes != nil {
		r.Nodes = s.options.Nodes
	}
	if s.options.ServerClock != nil {
		r.ServerClock = s.options.ServerClock
	}
	err := mgr.GetFieldIndexer().IndexField(ctx, &cachev1alpha1.MemcachedProxy{}, poolIndex, func(object client.Object) []string {
		var names []string
		if proxy, ok := object.(*cachev1alpha1.MemcachedProxy); ok {
			for _, pool := range proxy.Spec.Pools {
				names = append(names, pool.Name)
			}
		}
		return names
	})
	if err != nil {
		return fmt.Errorf("index MemcachedProxies by pool: %w", err)
	}
	sources := []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &cachev1alpha1.MemcachedProxy{}, r.proxies()),
		source.Kind[client.Object](mgr.GetCache(), &cachev1alpha1.Memcached{}, r.memcacheds()),
		source.Kind(mgr.GetCache(), &corev1.Pod{}, controllers.Pods(instanceOf)),
	}
	for _, child := range memcachedproxy.Children {
		sources = append(sources, source.Kind(mgr.GetCache(), child.New(), r.children(child)))
	}
	return controllers.AddController(mgr, "memcachedproxy", s.options.Options, r, sources)
}
