// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics defines the operator's own Prometheus series. controller-runtime adds series about reconcile durations, queue
// depth, client requests and leader election. The series of a Memcached disappear when it is deleted.
package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Instance is the state of one Memcached.
type Instance struct {
	Namespace, Name string
	// Desired and Ready are numbers of nodes.
	Desired, Ready int32
	// ItemMemory is each node's memory for items, in bytes. MaxConnections is each node's limit of client connections.
	ItemMemory     int64
	MaxConnections int32
	// Stuck reports that a change cannot proceed.
	Stuck      bool
	Conditions []Condition
}

// Condition is a condition of a Memcached. Its status is True, False or Unknown.
type Condition struct {
	Type, Status string
}

// Metrics collects the operator's series. It builds the series of Memcacheds at each scrape, because storing them would take more
// memory.
type Metrics struct {
	reconciles  *prometheus.CounterVec
	corrections *prometheus.CounterVec
	lostPods    prometheus.Counter
	instances   sync.Map // maps name to Instance
}

type name struct{ namespace, name string }

var (
	instanceLabels = []string{"namespace", "name"}

	conditionSeries = prometheus.NewDesc("memcached_operator_memcached_condition",
		"1 for the status that each condition of each Memcached has.", []string{"namespace", "name", "condition", "status"}, nil)
	desiredSeries = prometheus.NewDesc("memcached_operator_memcached_desired_nodes",
		"Nodes that each Memcached should have.", instanceLabels, nil)
	readySeries = prometheus.NewDesc("memcached_operator_memcached_ready_nodes",
		"Nodes of each Memcached that are ready.", instanceLabels, nil)
	itemMemorySeries = prometheus.NewDesc("memcached_operator_memcached_item_memory_bytes",
		"Memory for items that the spec of each Memcached gives each of its nodes.", instanceLabels, nil)
	maxConnectionsSeries = prometheus.NewDesc("memcached_operator_memcached_max_connections",
		"Clients that the spec of each Memcached lets connect to each of its nodes.", instanceLabels, nil)
	stuckSeries = prometheus.NewDesc("memcached_operator_memcached_stuck",
		"1 for each Memcached with a change that cannot go on, 0 for the others.", instanceLabels, nil)
)

// New returns Metrics that are registered with the registry.
func New(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_operator_reconciles_total",
			Help: "Reconciliations by outcome: Unchanged, Applied, Retried, or the reason why something was refused.",
		}, []string{"reason"}),
		corrections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_operator_corrections_total",
			Help: "Changes by others to objects of a Memcached that were undone, by the kind of the object.",
		}, []string{"kind"}),
		lostPods: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "memcached_operator_lost_pods_deleted_total",
			Help: "Pods that did not stop after their eviction from a lost cluster node and were deleted, so that others get their names.",
		}),
	}
	registry.MustRegister(m, m.reconciles, m.corrections, m.lostPods)
	return m
}

// Describe implements prometheus.Collector. It describes nothing, so that the registry does not check the series beforehand.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(series chan<- prometheus.Metric) {
	m.instances.Range(func(_, value any) bool {
		instance, _ := value.(Instance)
		instance.collect(series)
		return true
	})
}

func (i Instance) collect(series chan<- prometheus.Metric) {
	gauge := func(description *prometheus.Desc, value float64, labels ...string) {
		labels = append([]string{i.Namespace, i.Name}, labels...)
		series <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	}
	gauge(desiredSeries, float64(i.Desired))
	gauge(readySeries, float64(i.Ready))
	gauge(itemMemorySeries, float64(i.ItemMemory))
	gauge(maxConnectionsSeries, float64(i.MaxConnections))
	stuck := 0.0
	if i.Stuck {
		stuck = 1
	}
	gauge(stuckSeries, stuck)
	for _, condition := range i.Conditions {
		gauge(conditionSeries, 1, condition.Type, condition.Status)
	}
}

// Reconciled counts a reconciliation with this outcome.
func (m *Metrics) Reconciled(reason string) {
	m.reconciles.WithLabelValues(reason).Inc()
}

// Corrected counts the undoing of a change that others made to an object of this kind.
func (m *Metrics) Corrected(kind string) {
	m.corrections.WithLabelValues(kind).Inc()
}

// LostPodDeleted counts a deleted pod of a lost cluster node.
func (m *Metrics) LostPodDeleted() {
	m.lostPods.Inc()
}

// Observe sets the series of a Memcached.
func (m *Metrics) Observe(instance Instance) {
	m.instances.Store(name{instance.Namespace, instance.Name}, instance)
}

// Forget removes the series of a deleted Memcached.
func (m *Metrics) Forget(namespace, instance string) {
	m.instances.Delete(name{namespace, instance})
}
