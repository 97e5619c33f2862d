// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics holds the operator's own Prometheus series. Those of controller-runtime (reconcile durations, queue
// depth, client requests, leader election) are served beside them. The series of a Memcached disappear with it.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Instance is what the series of one Memcached say.
type Instance struct {
	Namespace, Name string
	// Desired and Ready are numbers of nodes.
	Desired, Ready int32
	// Conditions maps condition types to their status: True, False or Unknown.
	Conditions map[string]string
}

// Metrics are the operator's series.
type Metrics struct {
	reconciles *prometheus.CounterVec
	condition  *prometheus.GaugeVec
	desired    *prometheus.GaugeVec
	ready      *prometheus.GaugeVec
}

// New returns the series, registered.
func New(registry prometheus.Registerer) *Metrics {
	instance := []string{"namespace", "name"}
	m := &Metrics{
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_operator_reconciles_total",
			Help: "Reconciliations by outcome: Unchanged, Applied, Retried, or the reason why something was refused.",
		}, []string{"reason"}),
		condition: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_operator_memcached_condition",
			Help: "1 for the status that each condition of each Memcached has.",
		}, []string{"namespace", "name", "condition", "status"}),
		desired: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_operator_memcached_desired_nodes",
			Help: "Nodes that each Memcached should have.",
		}, instance),
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_operator_memcached_ready_nodes",
			Help: "Nodes of each Memcached that are ready.",
		}, instance),
	}
	registry.MustRegister(m.reconciles, m.condition, m.desired, m.ready)
	return m
}

// Reconciled counts a reconciliation.
func (m *Metrics) Reconciled(reason string) {
	m.reconciles.WithLabelValues(reason).Inc()
}

// Observe sets the series of a Memcached.
func (m *Metrics) Observe(instance Instance) {
	labels := prometheus.Labels{"namespace": instance.Namespace, "name": instance.Name}
	m.desired.With(labels).Set(float64(instance.Desired))
	m.ready.With(labels).Set(float64(instance.Ready))
	for condition, current := range instance.Conditions {
		for _, status := range []string{"True", "False", "Unknown"} {
			series := []string{instance.Namespace, instance.Name, condition, status}
			if status == current {
				m.condition.WithLabelValues(series...).Set(1)
			} else {
				m.condition.DeleteLabelValues(series...)
			}
		}
	}
}

// Forget drops the series of a Memcached that is gone.
func (m *Metrics) Forget(namespace, name string) {
	labels := prometheus.Labels{"namespace": namespace, "name": name}
	for _, vector := range []*prometheus.GaugeVec{m.condition, m.desired, m.ready} {
		vector.DeletePartialMatch(labels)
	}
}
