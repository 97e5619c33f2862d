// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package upgradeable

import (
	"context"
	"fmt"
	"os"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// SetupWithManager registers the Reporter with a manager, if OLM v0 has installed the operator. It needs no
// permission of ours: OLM grants get, update and patch of this one object, which is why it is not read through the cache.
func SetupWithManager(mgr ctrl.Manager) error {
	log := mgr.GetLogger().WithName("upgradeable")
	if os.Getenv(OperatorConditionVariable) == "" {
		log.V(1).Info("There is no OperatorCondition, since OLM v0 has not installed the operator")
		return nil
	}
	scheme := runtime.NewScheme()
	if err := operatorsv2.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register the OperatorCondition: %w", err)
	}
	uncached, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(), Scheme: scheme,
	})
	if err != nil {
		return fmt.Errorf("create the client of the OperatorCondition: %w", err)
	}
	factory := conditions.InClusterFactory{Client: uncached}
	name, err := factory.GetNamespacedName()
	if err != nil {
		log.Info("OLM does not learn whether it may upgrade the operator, which does not run in a pod with a service account; "+
			"outside of one, unset "+OperatorConditionVariable, "error", err.Error())
		return nil
	}
	condition, err := factory.NewCondition(operatorsv2.ConditionType(operatorsv2.Upgradeable))
	if err != nil {
		return fmt.Errorf("find the OperatorCondition: %w", err)
	}
	u := NewReporter(mgr.GetClient(), condition, clock.RealClock{})
	builder := ctrl.NewControllerManagedBy(mgr).Named("upgradeable").WithOptions(controller.Options{
		MaxConcurrentReconciles: 1, // the state has no lock
		ReconciliationTimeout:   30 * time.Second,
		RateLimiter:             newBackoff(),
	})
	for _, source := range sources(mgr.GetCache(), *name) {
		builder = builder.WatchesRawSource(source)
	}
	return builder.Complete(u)
}

// sources are what wakes the Reporter: its start, since there may be no Memcached, and whatever happens to
// rollouts. All events are for the one OperatorCondition of that name, so a thousand of them are one look.
func sources(c cache.Cache, name types.NamespacedName) []source.Source {
	look := func(q queue, changed ...*cachev1alpha1.Memcached) {
		for _, mc := range changed {
			if status.RollingOut(mc) {
				q.AddAfter(reconcile.Request{NamespacedName: name}, eventDelay)
			}
		}
	}
	return []source.Source{
		source.Func(func(_ context.Context, q queue) error {
			q.AddAfter(reconcile.Request{NamespacedName: name}, eventDelay)
			return nil
		}),
		source.Kind(c, &cachev1alpha1.Memcached{}, handler.TypedFuncs[*cachev1alpha1.Memcached, reconcile.Request]{
			CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*cachev1alpha1.Memcached], q queue) {
				look(q, e.Object)
			},
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*cachev1alpha1.Memcached], q queue) {
				look(q, e.ObjectOld, e.ObjectNew)
			},
			DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*cachev1alpha1.Memcached], q queue) {
				look(q, e.Object)
			},
		}),
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
