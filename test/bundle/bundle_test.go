// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package bundle_test checks the OLM bundle, in addition to test/scorecard: the validators of the Operator Framework must accept
// it, and it must agree with the rest of the project. The package also tests the scripts in hack/bundle and hack/release. CSV is
// short for ClusterServiceVersion.
package bundle_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

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
	if !strings.Contains(repository.Read(t, "catalog", "template.yaml"), "-bundle:v"+version) {
		t.Errorf("catalog/template.yaml does not have version %s", version)
	}
}

// The labels of the ClusterServiceVersion tell users on which platforms the operator runs. They must be the platforms of the image.
func TestLabelsAreThePlatformsOfTheImage(t *testing.T) {
	var want []string
	for platform := range strings.SplitSeq(repository.Variable(t, "PLATFORMS"), ",") {
		system, architecture, _ := strings.Cut(platform, "/")
		want = append(want, "operatorframework.io/os."+system, "operatorframework.io/arch."+architecture)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	var got []string
	for label, value := range bundle(t).CSV.Labels {
		if value != "supported" {
			t.Errorf("the label %s is %q, want supported", label, value)
		}
		got = append(got, label)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the labels are %q, the Makefile builds for %q", got, want)
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
	if diff := cmp.Diff(want, modes); diff != "" {
		t.Errorf("install modes (-want +got):\n%s", diff)
	}
	// OLM writes the namespace of the OperatorGroup into an annotation of the pod. WATCH_NAMESPACE must read the annotation.
	for _, variable := range container(t, csv).Env {
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

// createdAt comes from a file, not from a clock, so two bundles of the same sources are equal.
func TestCreatedAtIsTheDayOfTheRelease(t *testing.T) {
	base := repository.Read(t, "config", "manifests", "bases", "memcached-operator.clusterserviceversion.yaml")
	match := regexp.MustCompile(`(?m)^ {4}createdAt: "(\d{4}-\d\d-\d\dT00:00:00Z)"$`).FindStringSubmatch(base)
	if match == nil {
		t.Fatal("the base of the ClusterServiceVersion has no createdAt with the day of the release")
	}
	if got := bundle(t).CSV.Annotations["createdAt"]; got != match[1] {
		t.Errorf("createdAt is %s, the base says %s: run make bundle", got, match[1])
	}
}

// Consoles filter operators by their feature annotations. They silently ignore values other than "true" and "false". The feature
// "disconnected" must be true exactly if every image has a digest.
func TestFeaturesAreDeclaredPlainly(t *testing.T) {
	declared := map[string]string{}
	for name, value := range bundle(t).CSV.Annotations {
		if feature, ok := strings.CutPrefix(name, "features.operators.openshift.io/"); ok {
			declared[feature] = value
		}
	}
	for _, feature := range []string{
		"cnf", "cni", "csi", "disconnected", "fips-compliant", "proxy-aware", "tls-profiles", "token-auth-aws", "token-auth-azure",
		"token-auth-gcp",
	} {
		if value := declared[feature]; value != "true" && value != "false" {
			t.Errorf("the feature %s is declared as %q, want true or false", feature, value)
		}
	}
	pinned := true
	for _, image := range bundle(t).CSV.Spec.RelatedImages {
		pinned = pinned && strings.Contains(image.Image, "@sha256:")
	}
	if (declared["disconnected"] == "true") != pinned {
		t.Errorf("the feature disconnected is %s, but that every image has a digest is %t", declared["disconnected"], pinned)
	}
}

func TestDockerfileHasTheAnnotationsAsLabels(t *testing.T) {
	dockerfile := repository.Read(t, "bundle.Dockerfile")
	metadata := repository.Read(t, "bundle", "metadata", "annotations.yaml")
	annotations := regexp.MustCompile(`(?m)^ {2}([a-z0-9._]+): (.*)$`).FindAllStringSubmatch(metadata, -1)
	if len(annotations) < 9 {
		t.Fatalf("annotations.yaml has only %d annotations", len(annotations))
	}
	for _, annotation := range annotations {
		if label := "LABEL " + annotation[1] + "=" + annotation[2] + "\n"; !strings.Contains(dockerfile, label) {
			t.Errorf("bundle.Dockerfile lacks %q", label)
		}
	}
}

// A COPY fails if the file is missing, or if .dockerignore excludes it.
func TestDockerfilesFindWhatTheyCopy(t *testing.T) {
	ignored := strings.Split(repository.Read(t, ".dockerignore"), "\n")
	for _, dockerfile := range []string{"Dockerfile", "bundle.Dockerfile", "test/scorecard/Dockerfile"} {
		for _, line := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(repository.Read(t, dockerfile), -1) {
			for source := range strings.FieldsSeq(line[1]) {
				source = strings.TrimSuffix(source, "/")
				if !slices.ContainsFunc(ignored, func(entry string) bool {
					kept, ok := strings.CutPrefix(entry, "!")
					return ok && (source == kept || strings.HasPrefix(source, kept+"/"))
				}) {
					t.Errorf("%s copies %s, which .dockerignore excludes", dockerfile, source)
				}
				if _, err := os.Stat(repository.Path(source)); err != nil {
					t.Errorf("%s copies a missing file: %v", dockerfile, err)
				}
			}
		}
	}
}

// OLM v1 makes a ClusterExtension the owner of everything that it installs, except objects with the annotation
// helm.sh/resource-policy. Without this annotation, the deletion of a ClusterExtension would delete the CustomResourceDefinitions,
// and so every cache of the cluster.
func TestTheDefinitionOutlivesAClusterExtension(t *testing.T) {
	definitions := bundle(t).V1CRDs
	if len(definitions) != 2 {
		t.Fatalf("the bundle has %d definitions, want those of Memcached and MemcachedProxy", len(definitions))
	}
	for _, definition := range definitions {
		if policy := definition.Annotations["helm.sh/resource-policy"]; policy != "keep" {
			t.Errorf("the annotation helm.sh/resource-policy of %s is %q, want keep", definition.Name, policy)
		}
	}
}
