// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// state is what this process remembers of a MemcachedProxy.
type state struct {
	// verified is the UID of the MemcachedProxy of which the API server has confirmed the version that the cache had, or whose first
	// children this process has created.
	verified   types.UID
	transience controllers.Transience
}

// isTransient reports whether the API server has failed to decide for a short time only, so that there is nothing to report.
func (r *Reconciler) isTransient(name types.NamespacedName, written memcached.Written) (transient bool) {
	r.states.Update(name, func(s *state) { transient = s.transience.Note(written.Transient, r.clock.Now()) })
	return transient
}

func (r *Reconciler) verified(proxy *cachev1alpha1.MemcachedProxy) bool {
	return r.states.Get(client.ObjectKeyFromObject(proxy)).verified == proxy.UID
}

func (r *Reconciler) setVerified(proxy *cachev1alpha1.MemcachedProxy) {
	r.states.Update(client.ObjectKeyFromObject(proxy), func(s *state) { s.verified = proxy.UID })
}

// forget drops all that is remembered of a MemcachedProxy that is gone.
func (r *Reconciler) forget(name types.NamespacedName) {
	gone := &cachev1alpha1.MemcachedProxy{}
	gone.Namespace, gone.Name = name.Namespace, name.Name
	r.applier.Forget(gone)
	for _, child := range memcachedproxy.Children {
		r.applier.Forget(child.Named(name))
	}
	r.states.Forget(name)
}
