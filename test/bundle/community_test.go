// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/repository"
)

// Both community catalogs must accept what "make community" writes. Each subtest repeats a static check of the catalogs' pipelines, and has
// its name. The pipelines are in redhat-openshift-ecosystem/operator-pipelines; the checks follow commit 422dfd6e9876.
func TestCommunityCatalogsAcceptTheOperator(t *testing.T) {
	folder := t.TempDir()
	command := exec.Command("make", "--silent", "community", "COMMUNITY_DIR="+folder, "COMMUNITY_REVIEWERS=alice,bob")
	command.Dir = repository.Path()
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, catalog := range []string{"community-operators", "community-operators-prod"} {
		submitted := readOperator(t, filepath.Join(folder, catalog, "operators", "memcached-operator"))
		for name, check := range map[string]func(operator) error{
			"check_schema_operator_ci_config": fitsSchema, "check_catalog_usage_ci_config": mapsEachCatalogOnce,
			"check_operator_name": hasOneName, "check_bundle_release_config": isReleasedToTheTemplate,
			"check_network_policy_presence": hasNoNetworkPolicy, "check_operator_version_directory_name": isInTheFolderOfItsVersion,
			"check_required_fields": hasRequiredFields, "check_api_version_constraints": runsOnItsOpenShiftVersions,
			"check_replaces_availability": replacesNothing, "SemverTemplate.amend": hasATemplateToAmend,
		} {
			t.Run(catalog+"/"+name, func(t *testing.T) {
				if err := check(submitted); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// operator holds what the folder of an operator in a community catalog contains.
type operator struct {
	// ci has those fields of operatorcert/schemas/ci-schema.json that apply to community operators.
	ci struct {
		UpdateGraph string   `json:"updateGraph"`
		Reviewers   []string `json:"reviewers"`
		FBC         struct {
			Enabled                  bool   `json:"enabled"`
			VersionPromotionStrategy string `json:"version_promotion_strategy"`
			CatalogMapping           []struct {
				TemplateName string   `json:"template_name"`
				CatalogNames []string `json:"catalog_names"`
				Type         string   `json:"type"`
			} `json:"catalog_mapping"`
		} `json:"fbc"`
	}
	// release has those fields of operatorcert/schemas/release-config-schema.json that apply to a semver template.
	release struct {
		CatalogTemplates []struct {
			TemplateName string   `json:"template_name"`
			Channels     []string `json:"channels"`
		} `json:"catalog_templates"`
	}
	template map[string]any
	// version is the name of the only folder with a bundle, which the other fields are about.
	version     string
	csv         operatorsv1alpha1.ClusterServiceVersion
	annotations map[string]string
	manifests   string
}

func readOperator(t *testing.T, folder string) operator {
	t.Helper()
	found := operator{version: repository.Variable(t, "VERSION")}
	decode := func(into any, file ...string) {
		t.Helper()
		if err := yaml.UnmarshalStrict([]byte(repository.ReadFile(t, filepath.Join(append([]string{folder}, file...)...))), into); err != nil {
			t.Fatalf("%q: %v", file, err)
		}
	}
	decode(&found.ci, "ci.yaml")
	if found.ci.FBC.Enabled {
		decode(&found.template, "catalog-templates", "semver.yaml")
		decode(&found.release, found.version, "release-config.yaml")
	}
	decode(&found.csv, found.version, "manifests", "memcached-operator.clusterserviceversion.yaml")
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	decode(&metadata, found.version, "metadata", "annotations.yaml")
	found.annotations = metadata.Annotations
	files, err := filepath.Glob(filepath.Join(folder, found.version, "manifests", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		found.manifests += repository.ReadFile(t, file)
	}
	return found
}

// fitsSchema also requires semver-mode without a file-based catalog (FBC). In other modes, each version must name its predecessor, but our
// bundles name none.
func fitsSchema(o operator) error {
	if !o.ci.FBC.Enabled && o.ci.UpdateGraph != "semver-mode" {
		return fmt.Errorf("updateGraph is %q", o.ci.UpdateGraph)
	}
	for _, mapping := range o.ci.FBC.CatalogMapping {
		if mapping.TemplateName == "" || len(mapping.CatalogNames) == 0 || mapping.Type != "olm.semver" {
			return fmt.Errorf("catalog_mapping has %+v", mapping)
		}
	}
	if strategy := o.ci.FBC.VersionPromotionStrategy; o.ci.FBC.Enabled && strategy != "review-needed" {
		return fmt.Errorf("version_promotion_strategy is %q", strategy)
	}
	return nil
}

func mapsEachCatalogOnce(o operator) error {
	var catalogs []string
	for _, mapping := range o.ci.FBC.CatalogMapping {
		catalogs = append(catalogs, mapping.CatalogNames...)
	}
	slices.Sort(catalogs)
	if len(slices.Compact(slices.Clone(catalogs))) != len(catalogs) || o.ci.FBC.Enabled && len(catalogs) == 0 {
		return fmt.Errorf("the catalogs are %q", catalogs)
	}
	return nil
}

func hasOneName(o operator) error {
	inCSV, _, _ := strings.Cut(o.csv.Name, ".")
	if inMetadata := o.annotations["operators.operatorframework.io.bundle.package.v1"]; inCSV != "memcached-operator" || inMetadata != inCSV {
		return fmt.Errorf("the operator is %s by its metadata and %s by its CSV", inMetadata, inCSV)
	}
	return nil
}

func isReleasedToTheTemplate(o operator) error {
	if o.ci.FBC.Enabled && len(o.release.CatalogTemplates) == 0 {
		return fmt.Errorf("release-config.yaml is empty, so no catalog would have %s", o.version)
	}
	for _, release := range o.release.CatalogTemplates {
		if release.TemplateName != o.ci.FBC.CatalogMapping[0].TemplateName {
			return fmt.Errorf("%s is released to %s", o.version, release.TemplateName)
		}
		// From these, the semver template makes the channels that the bundle names.
		var channels []string
		for _, channel := range release.Channels {
			channels = append(channels, strings.ToLower(channel)+"-v0")
		}
		if want := o.annotations["operators.operatorframework.io.bundle.channels.v1"]; strings.Join(channels, ",") != want {
			return fmt.Errorf("%s is released to the channels %q, the bundle names %s", o.version, channels, want)
		}
	}
	return nil
}

func hasNoNetworkPolicy(o operator) error {
	if strings.Contains(o.manifests, "\nkind: NetworkPolicy\n") {
		return fmt.Errorf("%s contains a NetworkPolicy", o.version)
	}
	return nil
}

func isInTheFolderOfItsVersion(o operator) error {
	if version := o.csv.Spec.Version.String(); version != o.version {
		return fmt.Errorf("the folder %s has version %s", o.version, version)
	}
	return nil
}

func hasRequiredFields(o operator) error {
	spec, notes := o.csv.Spec, o.csv.Annotations
	for field, check := range map[string]struct{ value, pattern string }{
		"containerImage":   {notes["containerImage"], `^([^/]+/)+[^/:]+:.+`},
		"createdAt":        {notes["createdAt"], `^\d{4}-\d\d-\d\dT`},
		"repository":       {notes["repository"], `^https?://.+`},
		"support":          {notes["support"], `^.{3,}`},
		"description":      {notes["description"], `^.{10,}`},
		"categories":       {notes["categories"], `^Database$`},
		"capabilities":     {notes["capabilities"], `^(Basic Install|Seamless Upgrades|Full Lifecycle|Deep Insights|Auto Pilot)$`},
		"displayName":      {spec.DisplayName, `^.{3,50}$`},
		"spec.description": {spec.Description, `(?s)^.{20,}`},
		"provider.name":    {spec.Provider.Name, `^.{3,}`},
		"keywords":         {fmt.Sprint(spec.Keywords), `\[.+\]`},
		"icons":            {fmt.Sprint(len(spec.Icon)), `^1$`},
		"maintainers":      {fmt.Sprint(spec.Maintainers), `.+ .+@.+`},
		"links":            {fmt.Sprint(spec.Links), `.+ https://.+`},
		"minKubeVersion":   {spec.MinKubeVersion, `^\d+\.\d+\.\d+$`},
		"name":             {o.csv.Name, `^[a-z0-9-]+\.v\d+\.\d+\.\d+`},
	} {
		if !regexp.MustCompile(check.pattern).MatchString(check.value) {
			return fmt.Errorf("%s is %q", field, check.value)
		}
	}
	return nil
}

// runsOnItsOpenShiftVersions finds the Kubernetes of the oldest OpenShift version in hack/bundle/openshift.txt.
func runsOnItsOpenShiftVersions(o operator) error {
	table, err := os.ReadFile(repository.Path("hack", "bundle", "openshift.txt"))
	if err != nil {
		return err
	}
	oldest, _, _ := strings.Cut(o.annotations["com.redhat.openshift.versions"], "-")
	kubernetes, _ := strings.CutSuffix(o.csv.Spec.MinKubeVersion, ".0")
	if row := "\n" + strings.TrimPrefix(oldest, "=") + " " + kubernetes + "\n"; !strings.Contains(string(table), row) {
		return fmt.Errorf("the oldest OpenShift version is %q, and minKubeVersion %s", oldest, o.csv.Spec.MinKubeVersion)
	}
	return nil
}

func replacesNothing(o operator) error {
	if spec := o.csv.Spec; spec.Replaces != "" || len(spec.Skips) > 0 || o.csv.Annotations["olm.skipRange"] != "" {
		return fmt.Errorf("%s has a place in the graph, which is the template's and the catalog's to say", o.version)
	}
	return nil
}

// hasATemplateToAmend compares the keys of the template case-sensitively, as the pipeline does. opm ignores the case.
func hasATemplateToAmend(o operator) error {
	for key, want := range map[string]any{"Schema": "olm.semver", "GenerateMajorChannels": true, "GenerateMinorChannels": false} {
		if o.ci.FBC.Enabled && o.template[key] != want {
			return fmt.Errorf("%s of the template is %v, want %v", key, o.template[key], want)
		}
	}
	return nil
}
