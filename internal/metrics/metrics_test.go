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
	m.LostPodDeleted()
	m.Observe(metrics.Instance{
		Namespace: "shop", Name: "sessions", Desired: 3, Ready: 1, Conditions: []metrics.Condition{{Type: "Ready", Status: "False"}},
	})
	m.Observe(metrics.Instance{Namespace: "shop", Name: "other", Desired: 1, Ready: 1})
	m.Observe(metrics.Instance{
		Namespace: "shop", Name: "sessions", Desired: 3, Ready: 3, ItemMemory: 64 << 20, MaxConnections: 1024, Stuck: true,
		Conditions: []metrics.Condition{{Type: "Ready", Status: "True"}},
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
# HELP memcached_operator_lost_pods_deleted_total Pods that did not stop after their eviction from a lost cluster node and were deleted, so that others get their names.
# TYPE memcached_operator_lost_pods_deleted_total counter
memcached_operator_lost_pods_deleted_total 1
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
# HELP memcached_operator_memcached_item_memory_bytes Memory for items that the spec of each Memcached gives each of its nodes.
# TYPE memcached_operator_memcached_item_memory_bytes gauge
memcached_operator_memcached_item_memory_bytes{name="other",namespace="shop"} 0
memcached_operator_memcached_item_memory_bytes{name="sessions",namespace="shop"} 6.7108864e+07
# HELP memcached_operator_memcached_max_connections Clients that the spec of each Memcached lets connect to each of its nodes.
# TYPE memcached_operator_memcached_max_connections gauge
memcached_operator_memcached_max_connections{name="other",namespace="shop"} 0
memcached_operator_memcached_max_connections{name="sessions",namespace="shop"} 1024
# HELP memcached_operator_memcached_stuck 1 for each Memcached with a change that cannot go on, 0 for the others.
# TYPE memcached_operator_memcached_stuck gauge
memcached_operator_memcached_stuck{name="other",namespace="shop"} 0
memcached_operator_memcached_stuck{name="sessions",namespace="shop"} 1
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
