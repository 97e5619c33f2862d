// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/example/memcached-operator/internal/metrics"
)

func TestSeries(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := metrics.New(registry)
	m.Reconciled("Applied")
	m.Reconciled("Applied")
	m.Observe(metrics.Instance{
		Namespace: "shop", Name: "sessions", Desired: 3, Ready: 1, Conditions: []metrics.Condition{{Type: "Ready", Status: "False"}},
	})
	m.Observe(metrics.Instance{Namespace: "shop", Name: "other", Desired: 1, Ready: 1})
	m.Observe(metrics.Instance{
		Namespace: "shop", Name: "sessions", Desired: 3, Ready: 3, Conditions: []metrics.Condition{{Type: "Ready", Status: "True"}},
	})
	expect := func(want string, names ...string) {
		t.Helper()
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	}
	expect(`
# HELP memcached_operator_reconciles_total Reconciliations by outcome: Unchanged, Applied, Retried, or the reason why something was refused.
# TYPE memcached_operator_reconciles_total counter
memcached_operator_reconciles_total{reason="Applied"} 2
# HELP memcached_operator_memcached_condition 1 for the status that each condition of each Memcached has.
# TYPE memcached_operator_memcached_condition gauge
memcached_operator_memcached_condition{condition="Ready",name="sessions",namespace="shop",status="True"} 1
# HELP memcached_operator_memcached_desired_nodes Nodes that each Memcached should have.
# TYPE memcached_operator_memcached_desired_nodes gauge
memcached_operator_memcached_desired_nodes{name="other",namespace="shop"} 1
memcached_operator_memcached_desired_nodes{name="sessions",namespace="shop"} 3
# HELP memcached_operator_memcached_ready_nodes Nodes of each Memcached that are ready.
# TYPE memcached_operator_memcached_ready_nodes gauge
memcached_operator_memcached_ready_nodes{name="other",namespace="shop"} 1
memcached_operator_memcached_ready_nodes{name="sessions",namespace="shop"} 3
`)
	m.Forget("shop", "sessions")
	expect(`
# HELP memcached_operator_memcached_desired_nodes Nodes that each Memcached should have.
# TYPE memcached_operator_memcached_desired_nodes gauge
memcached_operator_memcached_desired_nodes{name="other",namespace="shop"} 1
`, "memcached_operator_memcached_desired_nodes", "memcached_operator_memcached_condition")
}

func TestNamesAreAsPrometheusWantsThem(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := metrics.New(registry)
	m.Reconciled("Applied")
	m.Observe(metrics.Instance{Namespace: "a", Name: "b", Conditions: []metrics.Condition{{Type: "Ready", Status: "True"}}})
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
