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
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers/upgradeable"
	"github.com/example/memcached-operator/test/testenv"
)

// reporter is a Reporter that reports when a test says so, with the permissions that OLM grants.
type reporter struct {
	*upgradeable.Reporter
	requests *testenv.Requests
	clock    *clocktesting.FakePassiveClock
	log      logged
	all      memcacheds
	// update, if not nil, is called in place of each update of the OperatorCondition. Its argument sends the update to the API server.
	update func(update func() error) error
}

// memcacheds imitates the cache of Memcacheds.
type memcacheds struct {
	client.Reader
	items []cachev1alpha1.Memcached
}

// List implements client.Reader.
func (m *memcacheds) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	rolling := list.(*cachev1alpha1.MemcachedList)
	for i := range m.items {
		if m.items[i].Status.Conditions[0].Reason == rollsOut { // as the index of the real cache does
			rolling.Items = append(rolling.Items, m.items[i])
		}
	}
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
	r.Reporter = &upgradeable.Reporter{Cache: &r.all, Condition: condition, Clock: r.clock}
	return r
}

func (r *reporter) put(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
	update := func() error { return c.Update(ctx, object, opts...) }
	if r.update != nil {
		return r.update(update)
	}
	return update()
}

// look reports once, and expects exactly these requests.
func (r *reporter) look(ctx context.Context, requests ...string) {
	GinkgoHelper()
	r.requests.Reset()
	r.Report(logf.IntoContext(ctx, r.log.logger(0)))
	Expect(conditionRequests(r.requests)).To(ConsistOf(requests))
}

func (r *reporter) after(d time.Duration) {
	r.clock.SetTime(r.clock.Now().Add(d))
}

// told returns a Memcached whose condition Progressing has this reason.
func told(name, reason string) cachev1alpha1.Memcached {
	mc := cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "1"}}
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

const (
	mayUpgrade    = "True/NoRollout: No nodes are being replaced"
	mayNotUpgrade = "False/RollingOut: Nodes are being replaced: kubectl get memcacheds --all-namespaces shows where"
)
