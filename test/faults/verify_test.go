// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
)

// verify checks what must be true in every run. Unless want is nil, it also compares the run with the reference run.
func (r *scenarioRun) verify(got, want *outcome) {
	r.Helper()
	if want != nil {
		if difference := cmp.Diff(want.changes, got.changes); difference != "" {
			r.Errorf("the objects were not created, changed and deleted as in the reference run (-reference +got):\n%s", difference)
		}
	}
	entries := history.of(r.namespace)
	found := slices.Concat(frontViolations(entries), twinViolations(entries), allLaunchers.violationsIn(r.namespace))
	for _, name := range memcachedsIn(entries) {
		seen := historyOf(entries, name)
		found = slices.Concat(found, statusViolations(seen), stepViolations(seen))
	}
	if len(found) > 0 {
		r.Errorf("%s\nin this history:\n%s", strings.Join(found, "\n"), formatHistory(entries))
	}
	for _, w := range r.proxy.written() {
		if !ourWrites.MatchString(w.kind() + " " + w.Name) {
			r.Errorf("the operator wrote an object that is not its own: %s %s", w.kind(), w.Name)
		}
	}
	for _, object := range r.foreign {
		now := object.DeepCopyObject().(client.Object)
		r.must(user.Get(r.ctx, client.ObjectKeyFromObject(object), now))
		if now.GetResourceVersion() != object.GetResourceVersion() {
			r.Errorf("the foreign %T %s was changed", object, object.GetName())
		}
	}
	if count := panics(); count > 0 {
		r.Errorf("%v reconciliations panicked", count)
	}
}

// ourWrites matches the writes that the operator may send, each with the name of the object.
var ourWrites = func() *regexp.Regexp {
	either := "(" + cacheName + "|" + twinName + ")"
	return regexp.MustCompile("^(" + strings.Join([]string{
		"(patch|delete) (deployments|statefulsets|poddisruptionbudgets|networkpolicies) " + either,
		"patch (services|memcacheds/status) " + either,
		"(patch|delete) configmaps " + either + "(" + memcached.ServersSuffix + "|" + memcached.ArgumentsSuffix + ")",
		"(delete pods|patch pods|patch pods/resize) " + either + `-\d+`,
		"patch (services|poddisruptionbudgets|deployments|memcachedproxies/status) " + frontName,
		"patch configmaps " + frontName + memcachedproxy.RoutesSuffix,
	}, "|") + ")$")
}()

// panics returns how many reconciliations have panicked. controller-runtime recovers from a panic, so only this count reveals it.
func panics() float64 {
	return sumCounters(ctrlmetrics.Registry, "controller_runtime_reconcile_panics_total")
}

// sumCounters returns the sum of the counters in a metric family. With values, it adds only the series whose first label has one of
// these values.
func sumCounters(gatherer prometheus.Gatherer, name string, values ...string) float64 {
	families, err := gatherer.Gather()
	if err != nil {
		panic(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && (len(values) == 0 || slices.Contains(values, metric.GetLabel()[0].GetValue())) {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// snapshots returns the JSON responses that the operator would now receive to its list requests, by resource.
func (r *scenarioRun) snapshots() map[string][]byte {
	r.Helper()
	k8s, err := discovery.NewDiscoveryClientForConfig(config)
	r.must(err)
	found := map[string][]byte{}
	for resource, kind := range kinds {
		path := "/apis/" + kind.GroupVersion().String()
		if kind.Group == "" {
			path = "/api/" + kind.Version
		}
		request := k8s.RESTClient().Get().AbsPath(path, "namespaces", r.namespace, resource)
		if kind.Group != cachev1alpha1.GroupVersion.Group {
			request.Param("labelSelector", memcached.ManagedByLabel+"="+memcached.ManagedBy)
		}
		found[resource], err = request.DoRaw(r.ctx)
		r.must(err)
	}
	return found
}
