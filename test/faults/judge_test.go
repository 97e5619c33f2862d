// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package faults

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/memcached-operator/internal/memcached"
)

// judge compares a play with the one without a fault, and with what may never happen.
func (p *play) judge(got, want *outcome) {
	p.Helper()
	if want != nil {
		if difference := cmp.Diff(want.changes, got.changes); difference != "" {
			p.Errorf("the objects were not created, changed and deleted as without the fault (-without +with):\n%s", difference)
		}
	}
	if found := lies(history.of(p.namespace)); len(found) > 0 {
		p.Errorf("%s\nin this history:\n%s", strings.Join(found, "\n"), story(history.of(p.namespace)))
	}
	for _, w := range p.proxy.written() {
		if w.Name != cacheName || !slices.Contains(ourWrites, w.kind()) {
			p.Errorf("the operator wrote what is not its own: %s %s", w.kind(), w.Name)
		}
	}
	for _, object := range p.foreign {
		now := object.DeepCopyObject().(client.Object)
		p.must(user.Get(p.ctx, client.ObjectKeyFromObject(object), now))
		if now.GetResourceVersion() != object.GetResourceVersion() {
			p.Errorf("%T %s was touched, which belongs to somebody else", object, object.GetName())
		}
	}
	if count := panics(); count > 0 {
		p.Errorf("%v reconciliations of this test run have panicked", count)
	}
}

// ourWrites are what the operator may send.
var ourWrites = []string{
	"patch deployments", "patch services", "patch poddisruptionbudgets", "delete poddisruptionbudgets", "patch memcacheds/status",
}

// panics is how many reconciliations have panicked, which controller-runtime survives.
func panics() float64 {
	families, err := ctrlmetrics.Registry.(prometheus.Gatherer).Gather()
	if err != nil {
		return 1
	}
	var count float64
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_panics_total" {
			for _, metric := range family.GetMetric() {
				count += metric.GetCounter().GetValue()
			}
		}
	}
	return count - expectedPanics
}

// expectedPanics are those that a test has made.
var expectedPanics float64

// snapshots are the lists that the operator would be served now.
func (p *play) snapshots() map[string][]byte {
	p.Helper()
	paths := map[string]string{
		"memcacheds":           "/apis/cache.example.com/v1alpha1",
		"deployments":          "/apis/apps/v1",
		"services":             "/api/v1",
		"poddisruptionbudgets": "/apis/policy/v1",
		"pods":                 "/api/v1",
	}
	found := map[string][]byte{}
	for resource, path := range paths {
		url := p.proxy.target.JoinPath(path, "namespaces", p.namespace, resource)
		if resource != "memcacheds" {
			url.RawQuery = "labelSelector=" + memcached.ManagedByLabel + "%3D" + memcached.ManagedBy
		}
		found[resource] = p.fetch(url.String())
	}
	return found
}

func (p *play) fetch(url string) []byte {
	p.Helper()
	request, err := http.NewRequestWithContext(p.ctx, http.MethodGet, url, http.NoBody)
	p.must(err)
	response, err := p.proxy.transport.RoundTrip(request)
	p.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	p.must(err)
	if response.StatusCode != http.StatusOK {
		p.Fatalf("%s: %s", url, text)
	}
	return text
}
