// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers/upgradeable"
	"github.com/example/memcached-operator/test/testenv"
)

// reporter is an UpgradeReporter whose looks the tests take one by one, with the permissions that OLM grants.
type reporter struct {
	*upgradeable.Reporter
	requests *testenv.Requests
	clock    *clocktesting.FakePassiveClock
	log      logged
	// all are the Memcached resources in the cache.
	all memcacheds
	// update, if it is set, is called in the place of the API server.
	update func(update func() error) error
}

// memcacheds are a cache.
type memcacheds struct {
	client.Reader
	items []cachev1alpha1.Memcached
}

// List implements client.Reader.
func (m *memcacheds) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*cachev1alpha1.MemcachedList).Items = m.items
	return nil
}

func newReporter(all ...cachev1alpha1.Memcached) *reporter {
	GinkgoHelper()
	r := &reporter{
		requests: &testenv.Requests{},
		clock:    clocktesting.NewFakePassiveClock(time.Now()),
		all:      memcacheds{items: all},
	}
	scheme := testenv.Scheme()
	Expect(operatorsv2.AddToScheme(scheme)).To(Succeed())
	uncached, err := client.NewWithWatch(r.requests.Record(asOperator()), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	factory := conditions.InClusterFactory{Client: interceptor.NewClient(uncached, interceptor.Funcs{Update: r.put})}
	condition, err := factory.NewCondition(operatorsv2.ConditionType(operatorsv2.Upgradeable))
	Expect(err).NotTo(HaveOccurred())
	r.Reporter = upgradeable.NewReporter(&r.all, condition, r.clock)
	return r
}

func (r *reporter) put(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
	update := func() error { return c.Update(ctx, object, opts...) }
	if r.update != nil {
		return r.update(update)
	}
	return update()
}

// look takes a look, expects exactly these requests, and returns when the next look is due.
func (r *reporter) look(ctx context.Context, requests ...string) time.Duration {
	GinkgoHelper()
	next := r.reconcile(ctx)
	Expect(conditionRequests(r.requests)).To(ConsistOf(requests))
	return next
}

func (r *reporter) reconcile(ctx context.Context) time.Duration {
	GinkgoHelper()
	r.requests.Reset()
	result, err := r.Reconcile(logf.IntoContext(ctx, r.log.logger(0)), reconcile.Request{})
	Expect(err).NotTo(HaveOccurred())
	return result.RequeueAfter
}

// after lets time pass.
func (r *reporter) after(d time.Duration) {
	r.clock.SetTime(r.clock.Now().Add(d))
}

// told is a Memcached whose status has a reason of Progressing.
func told(name, reason string) cachev1alpha1.Memcached {
	mc := cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 2}}
	mc.Status.ObservedGeneration = 2
	progressing := metav1.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: reason}
	if reason == cachev1alpha1.ReasonComplete || reason == cachev1alpha1.ReasonStuck {
		progressing.Status = metav1.ConditionFalse
	}
	mc.Status.Conditions = []metav1.Condition{progressing}
	return mc
}

const (
	rollsOut = cachev1alpha1.ReasonRollingOut
	complete = cachev1alpha1.ReasonComplete
)

const mayUpgrade = "True/NoRollout: No nodes are being replaced"

// mayNotUpgrade is what OLM is told during a rollout of one Memcached.
func mayNotUpgrade(name string) string {
	return "False/RollingOut: Nodes of 1 Memcached resource are being replaced: shop/" + name
}
