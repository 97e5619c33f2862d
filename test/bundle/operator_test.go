// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

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

// The Deployment in the bundle must equal the Deployment of config/default, except that OLM provides WATCH_NAMESPACE.
func TestOperatorIsTheOneOfConfigDefault(t *testing.T) {
	all := kustomize.Render(t, repository.Path("config", "default"))
	want := kustomize.Find[appsv1.Deployment](t, all, "Deployment", deployment(t, bundle(t).CSV).Name).Spec
	got := deployment(t, bundle(t).CSV).Spec
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
