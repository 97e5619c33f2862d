// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// bundle is the bundle under test.
type bundle struct {
	csv     *operatorsv1alpha1.ClusterServiceVersion
	crds    []*apiextensionsv1.CustomResourceDefinition
	objects []*unstructured.Unstructured
	// needed are the permissions of the operator according to the folder config.
	needed permissionsOf
}

// load reads the bundle in a folder, and the permissions from the project's folder config.
func load(folder, config string) (*bundle, error) {
	loaded, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the bundle in %s: %w", folder, err)
	}
	if loaded.CSV == nil || len(loaded.V1CRDs) == 0 {
		return nil, fmt.Errorf("%s has no ClusterServiceVersion and CustomResourceDefinition: it is not a bundle", folder)
	}
	b := &bundle{csv: loaded.CSV, crds: loaded.V1CRDs, objects: loaded.Objects}
	b.needed, err = readPermissions(config)
	return b, err
}

// permissionsOf are the rules that the operator needs.
type permissionsOf struct {
	// namespaced are the rules for single namespaces, and cluster the rules for the whole cluster.
	namespaced, cluster []rbacv1.PolicyRule
}

func readPermissions(config string) (permissionsOf, error) {
	var needed permissionsOf
	var errs []error
	rules := func(path ...string) []rbacv1.PolicyRule {
		var role rbacv1.ClusterRole // a Role has the same rules
		text, err := os.ReadFile(filepath.Join(append([]string{config}, path...)...))
		errs = append(errs, err, yaml.Unmarshal(text, &role))
		return role.Rules
	}
	needed.namespaced = append(rules("rbac", "role.yaml"), rules("rbac", "leader_election_role.yaml")...)
	needed.cluster = rules("components", "metrics-auth", "metrics_auth_role.yaml")
	if err := errors.Join(errs...); err != nil {
		return needed, fmt.Errorf("read the permissions in %s: %w", config, err)
	}
	return needed, nil
}

// pods returns the pod template of each Deployment in the bundle, by the name of the Deployment.
func (b *bundle) pods() map[string]corev1.PodTemplateSpec {
	pods := map[string]corev1.PodTemplateSpec{}
	for _, deployment := range b.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		pods[deployment.Name] = deployment.Spec.Template
	}
	return pods
}

func containersOf(pod corev1.PodTemplateSpec) []corev1.Container {
	return append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
}

func (b *bundle) ships(kind, name string) bool {
	for _, object := range b.objects {
		if object.GetKind() == kind && object.GetName() == name {
			return true
		}
	}
	return false
}
