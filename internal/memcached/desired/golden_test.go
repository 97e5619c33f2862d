// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

// The golden files show the objects as the cluster gets them. testdata/<case>.input.yaml is a Memcached as a user writes it.
// testdata/<case>.golden.yaml contains its objects. `go test ./internal/memcached/desired -update` rewrites the golden files.
//
// If the pod template of a Deployment changes, every user who upgrades the operator loses all nodes, one after the other, and with them the
// cache. If the template's hash in the annotation cache.example.com/record changes, every Deployment adopts the new operator's defaults at
// once. If a hash in the annotation cache.example.com/asked changes (but for the rendering), every StatefulSet replaces or restarts its
// nodes. Such a change needs a good reason and a line in the CHANGELOG. The hashes also show whether a newer Kubernetes library encodes
// the same fields differently.

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden.yaml")

const (
	inputSuffix  = ".input.yaml"
	goldenSuffix = ".golden.yaml"
)

// goldenCase is an input file as the API server would store it.
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
			file, got := filepath.Join("testdata", c.name+goldenSuffix), documents(t, objectsOf(t, c.mc, memcached.Observed{}, c.opts))
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s: read the comment in golden_test.go before -update (-want +got):\n%s", file, diff)
			}
		})
	}
}

// documents returns objects as YAML documents, without their status.
func documents(t *testing.T, objects []client.Object) []byte {
	t.Helper()
	var all [][]byte
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		delete(content, "status")
		document, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, document)
	}
	return bytes.Join(all, []byte("---\n"))
}

func objectsOf(t testing.TB, mc *cachev1alpha1.Memcached, observed memcached.Observed, opts memcached.Options) []client.Object {
	t.Helper()
	plan := For(memcachedtest.View(mc, observed), opts)
	if plan.Problem != nil {
		t.Fatalf("a valid spec: %v", plan.Problem)
	}
	return plan.Objects
}

// live returns the Deployment that an operator with these options has left in the cluster.
func live(t testing.TB, mc *cachev1alpha1.Memcached, opts memcached.Options) *appsv1.Deployment {
	t.Helper()
	return memcachedtest.Live(t, mc, renderedDeployment(t, mc, memcached.Observed{}, opts))
}

// liveWorkload returns the workload that an operator with these options has left in the cluster.
func liveWorkload(t testing.TB, mc *cachev1alpha1.Memcached, opts memcached.Options) *memcached.Workload {
	t.Helper()
	plan := For(memcachedtest.View(mc, memcached.Observed{}), opts)
	rendered := plan.Workload()
	if plan.Problem != nil {
		t.Fatal(plan.Problem)
	}
	return memcachedtest.View(mc, memcached.Observed{Children: []client.Object{memcachedtest.Live(t, mc, rendered)}}).Workload
}

const (
	deploymentKind  = cachev1alpha1.WorkloadDeployment
	statefulSetKind = cachev1alpha1.WorkloadStatefulSet
)

func workloadKind(kind cachev1alpha1.WorkloadKind) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Spec.Workload = kind }
}

// inEachWorkload runs a test for each Kind of workload. It passes the test a func that sets spec.workload to this Kind.
func inEachWorkload(t *testing.T, test func(t *testing.T, in func(*cachev1alpha1.Memcached))) {
	t.Helper()
	for _, kind := range []cachev1alpha1.WorkloadKind{deploymentKind, statefulSetKind} {
		t.Run(string(kind), func(t *testing.T) { test(t, workloadKind(kind)) })
	}
}

func renderedDeployment(t testing.TB, mc *cachev1alpha1.Memcached, observed memcached.Observed, opts memcached.Options) *appsv1.Deployment {
	t.Helper()
	plan := For(memcachedtest.View(mc, observed), opts)
	workload := plan.Workload()
	if plan.Problem != nil {
		t.Fatal(plan.Problem)
	}
	return workload.(*appsv1.Deployment)
}
