// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// SetupWithManager adds the controller to a manager that already has the controller for Memcacheds, because both use one index of pods.
func SetupWithManager(mgr ctrl.Manager, options controllers.Options) error {
	r := NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(memcached.ManagedBy), clock.RealClock{}, options.Memcached)
	if options.Nodes != nil {
		r.Nodes = options.Nodes
	}
	if options.ServerClock != nil {
		r.ServerClock = options.ServerClock
	}
	sources := []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &cachev1alpha1.MemcachedProxy{}, r.proxies()),
		source.Kind[client.Object](mgr.GetCache(), &cachev1alpha1.Memcached{}, r.memcacheds()),
		source.Kind(mgr.GetCache(), &corev1.Pod{}, controllers.Pods(instanceOf)),
	}
	for _, child := range memcachedproxy.Children {
		sources = append(sources, source.Kind(mgr.GetCache(), child.New(), r.children(child)))
	}
	return controllers.AddController(mgr, "memcachedproxy", options, r, sources)
}
