// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

// The golden files show the product as the cluster gets it. testdata/<case>.input.yaml is a Memcached as a user writes it.
// testdata/<case>.golden.yaml holds all of its objects. `go test ./internal/memcached/desired -update` rewrites them.
//
// A diff in a pod template (spec.template of a Deployment) replaces every node of every user when they upgrade the operator, and each
// node loses its share of the cache. Such a diff needs a good reason, and a line in the CHANGELOG. The same holds for the annotation
// cache.example.com/template-hash: if it changes, every Memcached adopts the new operator's defaults at once. The files contain the
// annotation to show whether a newer Kubernetes library encodes a pod template differently.

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden.yaml")

const (
	inputSuffix  = ".input.yaml"
	goldenSuffix = ".golden.yaml"
)

// goldenCase is an input file, read as the API server would store it.
type goldenCase struct {
	name string
	mc   *cachev1alpha1.Memcached
	opts memcached.Options
}

func goldenCases(t testing.TB) []goldenCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*" + inputSuffix)
	if err != nil || len(files) == 0 {
		t.Fatalf("no input files: %v", err)
	}
	var cases []goldenCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), inputSuffix)
		cases = append(cases, goldenCase{
			name: name,
			mc:   stored(t, text),
			opts: memcached.Options{
				DefaultImage: memcachedtest.DefaultImage, AgentImage: memcachedtest.AgentImage, OmitRunAsUser: name == "openshift",
			},
		})
	}
	return cases
}

func TestGolden(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			objects := objectsOf(t, c.mc, memcached.Observed{}, c.opts)
			file := filepath.Join("testdata", c.name+goldenSuffix)
			memcachedtest.Golden(t, file, objects, *update, "read the comment in golden_test.go before -update")
		})
	}
}

// TestGoldenFilesHaveInputs finds golden files that no test looks at.
func TestGoldenFilesHaveInputs(t *testing.T) {
	files, err := filepath.Glob("testdata/*" + goldenSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, err := os.Stat(strings.TrimSuffix(file, goldenSuffix) + inputSuffix); err != nil {
			t.Errorf("%s has no input: %v", file, err)
		}
	}
}

// objectsOf are the desired objects of a valid spec.
func objectsOf(t testing.TB, mc *cachev1alpha1.Memcached, observed memcached.Observed, opts memcached.Options) []client.Object {
	t.Helper()
	plan := For(memcachedtest.View(mc, observed), opts)
	if plan.Problem != nil {
		t.Fatalf("a valid spec: %v", plan.Problem)
	}
	return plan.Objects
}

// live is the Deployment that an operator with the given options has left in the cluster.
func live(t testing.TB, mc *cachev1alpha1.Memcached, opts memcached.Options) *appsv1.Deployment {
	t.Helper()
	return memcachedtest.Live(t, mc, deploymentOf(t, mc, memcached.Observed{}, opts))
}

// liveWorkload is the workload that an operator with the given options has left in the cluster.
func liveWorkload(t testing.TB, mc *cachev1alpha1.Memcached, opts memcached.Options) *memcached.Workload {
	t.Helper()
	plan := For(memcachedtest.View(mc, memcached.Observed{}), opts)
	rendered := plan.Workload()
	if plan.Problem != nil {
		t.Fatal(plan.Problem)
	}
	return memcachedtest.View(mc, memcached.Observed{Children: []client.Object{memcachedtest.Live(t, mc, rendered)}}).Workload
}

// inEachWorkload runs a test for each Kind of workload, with a change that makes a Memcached ask for it.
func inEachWorkload(t *testing.T, test func(t *testing.T, in func(*cachev1alpha1.Memcached))) {
	t.Helper()
	for _, kind := range []cachev1alpha1.WorkloadKind{deploymentKind, statefulSetKind} {
		t.Run(string(kind), func(t *testing.T) { test(t, workloadKind(kind)) })
	}
}

// deploymentOf is the desired Deployment of a valid spec.
func deploymentOf(t testing.TB, mc *cachev1alpha1.Memcached, observed memcached.Observed, opts memcached.Options) *appsv1.Deployment {
	t.Helper()
	plan := For(memcachedtest.View(mc, observed), opts)
	workload := plan.Workload()
	if plan.Problem != nil {
		t.Fatal(plan.Problem)
	}
	return workload.(*appsv1.Deployment)
}
