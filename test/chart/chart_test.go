// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build chart

// Package chart compares what the Helm chart installs with what the kustomizations in config install. make test-chart runs it, with HELM.
package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

func TestTheChartInstallsWhatConfigInstalls(t *testing.T) {
	for name, test := range map[string]struct {
		folder string
		// parts are the optional parts of the kustomization, which a user uncomments.
		parts  []string
		values []string
	}{
		"by default":       {folder: "default"},
		"in one namespace": {folder: "namespaced", values: []string{"namespaced=true"}},
		"with all optional parts": {
			folder: "default", parts: []string{"../prometheus", "../network-policy", "../components/in-place"},
			values: []string{"monitoring.enabled=true", "networkPolicy.enabled=true", "inPlace.enabled=true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := described(kustomized(t, test.folder, test.parts)), described(installed(t, test.values))
			if len(want) == 0 {
				t.Fatal("the kustomization has no objects")
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(sameLines)); diff != "" {
				t.Errorf("the chart differs from config/%s (-config +chart):\n%s", test.folder, diff)
			}
		})
	}
}

// sameLines ignores empty lines, because Helm 4 adds one to some of the expressions that have several lines.
func sameLines(a, b string) bool {
	return slices.Equal(strings.FieldsFunc(a, isNewline), strings.FieldsFunc(b, isNewline))
}

func isNewline(character rune) bool { return character == '\n' }

func kustomized(t *testing.T, folder string, parts []string) kustomize.Objects {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config")
	if err := os.CopyFS(config, os.DirFS(repository.Path("config"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(config, folder, "kustomization.yaml")
	text := repository.ReadFile(t, file)
	for _, part := range parts {
		uncommented := strings.Replace(text, "#- "+part+"\n", "- "+part+"\n", 1)
		if uncommented == text {
			t.Fatalf("config/%s has no optional part %s", folder, part)
		}
		text = uncommented
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomize.Render(t, filepath.Join(config, folder))
}

// installed returns the objects that helm install creates with these values, in the namespace that config uses.
func installed(t *testing.T, values []string) kustomize.Objects {
	t.Helper()
	command := exec.Command(os.Getenv("HELM"), "template", "memcached-operator", repository.Path("charts", "memcached-operator"),
		"--namespace", "memcached-operator-system", "--set", strings.Join(values, ","))
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all kustomize.Objects
	for text := range strings.SplitSeq(string(output), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

// described returns the objects as JSON by kind and name, without the Namespace, which Helm creates itself, and the labels that say what
// has installed an object.
func described(all kustomize.Objects) map[string]any {
	found := map[string]any{}
	for _, object := range all {
		if object.GetKind() == "Namespace" {
			continue
		}
		labels := object.GetLabels()
		for _, label := range []string{
			"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart",
		} {
			delete(labels, label)
		}
		object.SetLabels(labels)
		text, err := object.MarshalJSON()
		if err != nil {
			panic(err)
		}
		var plain any
		if err := yaml.Unmarshal(text, &plain); err != nil {
			panic(err)
		}
		found[object.GetKind()+" "+object.GetName()] = plain
	}
	return found
}
