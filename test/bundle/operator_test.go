// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

func deployment(t *testing.T, csv *operatorsv1alpha1.ClusterServiceVersion) operatorsv1alpha1.StrategyDeploymentSpec {
	t.Helper()
	return repository.TheOnly(t, csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, "Deployments in the bundle")
}

func container(t *testing.T, csv *operatorsv1alpha1.ClusterServiceVersion) corev1.Container {
	t.Helper()
	return repository.TheOnly(t, deployment(t, csv).Spec.Template.Spec.Containers, "containers of the operator")
}

func TestOperatorPassesRestrictedPodSecurity(t *testing.T) {
	kustomize.MustBeRestricted(t, deployment(t, bundle(t).CSV).Spec.Template)
}

func TestOperatorHasRequestsAndAMemoryLimit(t *testing.T) {
	resources := container(t, bundle(t).CSV).Resources
	if resources.Requests.Cpu().IsZero() || resources.Requests.Memory().IsZero() || resources.Limits.Memory().IsZero() {
		t.Errorf("the operator has the resources %+v, want requests of CPU and memory and a limit of memory", resources)
	}
}

// The Deployment in the bundle must equal the Deployment of config/default, with two exceptions. OLM provides WATCH_NAMESPACE, and the
// bundle may name images by digest.
func TestOperatorIsTheOneOfConfigDefault(t *testing.T) {
	all := kustomize.Render(t, repository.Path("config", "default"))
	want := kustomize.Find[appsv1.Deployment](t, all, "Deployment", deployment(t, bundle(t).CSV).Name).Spec
	text, err := yaml.Marshal(deployment(t, bundle(t).CSV).Spec)
	if err != nil {
		t.Fatal(err)
	}
	var got appsv1.DeploymentSpec
	if err := yaml.Unmarshal([]byte(repository.ByTag(t, string(text))), &got); err != nil {
		t.Fatal(err)
	}
	for _, template := range []*corev1.PodTemplateSpec{&want.Template, &got.Template} {
		var kept []corev1.EnvVar
		for _, variable := range template.Spec.Containers[0].Env {
			if variable.Name != "WATCH_NAMESPACE" {
				kept = append(kept, variable)
			}
		}
		template.Spec.Containers[0].Env = kept
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the Deployment of the bundle (-config/default +bundle):\n%s", diff)
	}
}

func TestIconIsTheDrawing(t *testing.T) {
	icons := bundle(t).CSV.Spec.Icon
	if len(icons) != 1 || icons[0].MediaType != "image/svg+xml" {
		t.Fatalf("the bundle has %d icons, want one SVG", len(icons))
	}
	drawing, err := base64.StdEncoding.DecodeString(icons[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	if string(drawing) != repository.Read(t, "hack", "bundle", "icon.svg") {
		t.Error("the icon is not hack/bundle/icon.svg: run make bundle")
	}
	decoder := xml.NewDecoder(strings.NewReader(string(drawing)))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the icon is not XML: %v", err)
		}
	}
}
