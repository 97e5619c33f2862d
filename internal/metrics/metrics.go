// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics holds the operator's own Prometheus series. Those of controller-runtime (reconcile durations, queue
// depth, client requests, leader election) are served beside them. The series of a Memcached disappear with it.
package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Instance is what the series of one Memcached say.
type Instance struct {
	Namespace, Name string
	// Desired and Ready are numbers of nodes.
	Desired, Ready int32
	Conditions     []Condition
}

// Condition is one of the conditions of a Memcached; the status is True, False or Unknown.
type Condition struct {
	Type, Status string
}

// Metrics are the operator's series. Those of the Memcacheds are made when they are asked for: kept for thousands, they
// would need some 4 KiB for each.
type Metrics struct {
	reconciles  *prometheus.CounterVec
	corrections *prometheus.CounterVec
	instances   sync.Map // of Instance by name
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
)

// New returns the series, registered.
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
	}
	registry.MustRegister(m)
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.reconciles.Describe(descriptions)
	m.corrections.Describe(descriptions)
	for _, description := range []*prometheus.Desc{conditionSeries, desiredSeries, readySeries} {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(series chan<- prometheus.Metric) {
	m.reconciles.Collect(series)
	m.corrections.Collect(series)
	gauge := func(description *prometheus.Desc, value int32, labels ...string) {
		series <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, float64(value), labels...)
	}
	m.instances.Range(func(_, value any) bool {
		instance, _ := value.(Instance)
		gauge(desiredSeries, instance.Desired, instance.Namespace, instance.Name)
		gauge(readySeries, instance.Ready, instance.Namespace, instance.Name)
		for _, condition := range instance.Conditions {
			gauge(conditionSeries, 1, instance.Namespace, instance.Name, condition.Type, condition.Status)
		}
		return true
	})
}

// Reconciled counts a reconciliation.
func (m *Metrics) Reconciled(reason string) {
	m.reconciles.WithLabelValues(reason).Inc()
}

// Corrected counts a change to an object of that kind that was undone.
func (m *Metrics) Corrected(kind string) {
	m.corrections.WithLabelValues(kind).Inc()
}

// Observe sets the series of a Memcached.
func (m *Metrics) Observe(instance Instance) {
	m.instances.Store(name{instance.Namespace, instance.Name}, instance)
}

// Forget drops the series of a Memcached that is gone.
func (m *Metrics) Forget(namespace, instance string) {
	m.instances.Delete(name{namespace, instance})
}
