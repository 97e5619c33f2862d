// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package bundle_test checks that the OLM bundle agrees with the rest of the project, and with the rules of the community catalogs. make
// bundle runs the validators of operator-sdk. CSV is short for ClusterServiceVersion.
package bundle_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/repository"
)

func bundle(t *testing.T) *manifests.Bundle {
	t.Helper()
	loaded, err := manifests.GetBundleFromDir(repository.Path("bundle"))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestTheBundleIsOfTheVersionOfTheMakefile(t *testing.T) {
	version := repository.Variable(t, "VERSION")
	csv := bundle(t).CSV
	if csv.Name != "memcached-operator.v"+version || csv.Spec.Version.String() != version {
		t.Errorf("the bundle is %s of version %s, the Makefile prepares %s", csv.Name, csv.Spec.Version, version)
	}
	if !strings.Contains(repository.Read(t, "catalog", "template.yaml"), "\n- name: "+csv.Name+"\n") {
		t.Errorf("catalog/template.yaml does not have version %s", version)
	}
}

// The labels of the ClusterServiceVersion tell users on which platforms the operator runs, and its Deployment selects them. They must be the
// platforms of the image.
func TestPlatformsAreThoseOfTheImage(t *testing.T) {
	csv := bundle(t).CSV
	pod := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec
	terms := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	expression := repository.TheOnly(t, repository.TheOnly(t, terms, "terms").MatchExpressions, "expressions")
	if expression.Key != corev1.LabelArchStable || expression.Operator != corev1.NodeSelectorOpIn {
		t.Errorf("the affinity is %v", expression)
	}
	system := pod.NodeSelector[corev1.LabelOSStable]
	labels, platforms := map[string]string{"operatorframework.io/os." + system: "supported"}, []string{}
	for _, architecture := range expression.Values {
		labels["operatorframework.io/arch."+architecture] = "supported"
		platforms = append(platforms, system+"/"+architecture)
	}
	if got, want := strings.Join(platforms, ","), repository.Variable(t, "PLATFORMS"); got != want {
		t.Errorf("the operator runs on %s, its image is built for %s", got, want)
	}
	if !maps.Equal(labels, csv.Labels) {
		t.Errorf("the labels are %q, the Deployment selects %q", csv.Labels, platforms)
	}
}

func TestInstallModes(t *testing.T) {
	csv := bundle(t).CSV
	modes := map[operatorsv1alpha1.InstallModeType]bool{}
	for _, mode := range csv.Spec.InstallModes {
		modes[mode.Type] = mode.Supported
	}
	want := map[operatorsv1alpha1.InstallModeType]bool{
		operatorsv1alpha1.InstallModeTypeOwnNamespace: true, operatorsv1alpha1.InstallModeTypeSingleNamespace: true,
		operatorsv1alpha1.InstallModeTypeMultiNamespace: false, operatorsv1alpha1.InstallModeTypeAllNamespaces: true,
	}
	if !maps.Equal(want, modes) {
		t.Errorf("install modes: %v", modes)
	}
	// OLM writes the namespace of the OperatorGroup into an annotation of the pod. WATCH_NAMESPACE must read the annotation.
	deployment := repository.TheOnly(t, csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, "Deployments")
	for _, variable := range deployment.Spec.Template.Spec.Containers[0].Env {
		if variable.Name == "WATCH_NAMESPACE" {
			if from := variable.ValueFrom; variable.Value != "" || from == nil || from.FieldRef == nil ||
				from.FieldRef.FieldPath != "metadata.annotations['olm.targetNamespaces']" {
				t.Errorf("WATCH_NAMESPACE does not come from the OperatorGroup: %+v", variable)
			}
			return
		}
	}
	t.Error("the operator has no variable WATCH_NAMESPACE")
}

// Helm deletes what it has installed, except objects with this annotation. Without it, helm uninstall would delete the
// CustomResourceDefinitions, and so every cache of the cluster.
func TestTheDefinitionsOutliveTheOperator(t *testing.T) {
	definitions := bundle(t).V1CRDs
	if len(definitions) != 1 {
		t.Fatalf("the bundle has %d definitions, want that of Memcached", len(definitions))
	}
	for _, definition := range definitions {
		if policy := definition.Annotations["helm.sh/resource-policy"]; policy != "keep" {
			t.Errorf("the annotation helm.sh/resource-policy of %s is %q, want keep", definition.Name, policy)
		}
	}
}

// scorecard must run the tests of the operator-sdk that validates the bundle.
func TestScorecardIsThatOfOperatorSDK(t *testing.T) {
	sdk := regexp.MustCompile(`operator-framework/operator-sdk (v\S+)`).FindStringSubmatch(repository.Read(t, "hack", "olm", "go.mod"))
	if sdk == nil {
		t.Fatal("hack/olm/go.mod does not require operator-sdk")
	}
	images := regexp.MustCompile(`image: (\S+)`).FindAllStringSubmatch(repository.Read(t, "bundle", "tests", "scorecard", "config.yaml"), -1)
	if len(images) == 0 {
		t.Error("scorecard has no tests")
	}
	for _, image := range images {
		if want := "quay.io/operator-framework/scorecard-test:" + sdk[1]; image[1] != want {
			t.Errorf("scorecard runs %s, want %s", image[1], want)
		}
	}
}
