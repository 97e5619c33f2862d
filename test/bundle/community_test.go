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

// Both community catalogs must accept what "make community" writes. Each check repeats the static check of this name in the
// catalogs' pipelines. The pipelines are in redhat-openshift-ecosystem/operator-pipelines; the checks follow commit 422dfd6e9876.
func TestCommunityCatalogsAcceptTheOperator(t *testing.T) {
	folder := t.TempDir()
	command := exec.Command("make", "--silent", "community", "COMMUNITY_DIR="+folder, "COMMUNITY_REVIEWERS=alice,bob")
	command.Dir = repository.Path()
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, catalog := range []string{"community-operators", "community-operators-prod"} {
		o := readOperator(t, filepath.Join(folder, catalog, "operators", "memcached-operator"))
		must := func(check string, passes bool, values ...any) {
			if !passes {
				t.Errorf("%s, %s: %q", catalog, check, values)
			}
		}
		mustBelongToACatalog(o, must)
		mustBeABundle(o, must)
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

// mustBelongToACatalog checks the files beside the bundle. The template and the catalog say which place a version has in the graph.
func mustBelongToACatalog(o operator, must func(check string, passes bool, values ...any)) {
	fbc := o.ci.FBC
	// Without a file-based catalog (FBC), in other modes, each version must name its predecessor, but our bundles name none.
	must("check_schema_operator_ci_config", fbc.Enabled || o.ci.UpdateGraph == "semver-mode", o.ci.UpdateGraph)
	must("check_schema_operator_ci_config", !fbc.Enabled || fbc.VersionPromotionStrategy == "review-needed", fbc.VersionPromotionStrategy)
	var catalogs []string
	for _, mapping := range fbc.CatalogMapping {
		must("check_schema_operator_ci_config", mapping.TemplateName != "" && len(mapping.CatalogNames) > 0 && mapping.Type == "olm.semver", mapping)
		catalogs = append(catalogs, mapping.CatalogNames...)
	}
	slices.Sort(catalogs)
	once := len(slices.Compact(slices.Clone(catalogs))) == len(catalogs)
	must("check_catalog_usage_ci_config", once && (!fbc.Enabled || len(catalogs) > 0), catalogs)
	must("check_bundle_release_config", !fbc.Enabled || len(o.release.CatalogTemplates) > 0)
	for _, release := range o.release.CatalogTemplates {
		// From these and the major version, the semver template makes the channels that the bundle names.
		var channels []string
		major, _, _ := strings.Cut(o.version, ".")
		for _, channel := range release.Channels {
			channels = append(channels, strings.ToLower(channel)+"-v"+major)
		}
		must("check_bundle_release_config", release.TemplateName == fbc.CatalogMapping[0].TemplateName, release.TemplateName)
		must("check_bundle_release_config", strings.Join(channels, ",") == o.annotations["operators.operatorframework.io.bundle.channels.v1"], channels)
	}
	// The pipeline compares the keys of the template case-sensitively. opm ignores the case.
	for key, want := range map[string]any{"Schema": "olm.semver", "GenerateMajorChannels": true, "GenerateMinorChannels": false} {
		must("SemverTemplate.amend", !fbc.Enabled || o.template[key] == want, key, o.template[key])
	}
	must("check_replaces_availability", o.csv.Spec.Replaces == "" && len(o.csv.Spec.Skips) == 0 && o.csv.Annotations["olm.skipRange"] == "")
}

func mustBeABundle(o operator, must func(check string, passes bool, values ...any)) {
	spec, notes := o.csv.Spec, o.csv.Annotations
	inCSV, _, _ := strings.Cut(o.csv.Name, ".")
	inMetadata := o.annotations["operators.operatorframework.io.bundle.package.v1"]
	must("check_operator_name", inCSV == "memcached-operator" && inMetadata == inCSV, inCSV, inMetadata)
	must("check_network_policy_presence", !strings.Contains(o.manifests, "\nkind: NetworkPolicy\n"))
	must("check_operator_version_directory_name", spec.Version.String() == o.version, spec.Version, o.version)
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
		must("check_required_fields", regexp.MustCompile(check.pattern).MatchString(check.value), field, check.value)
	}
	// hack/bundle/openshift.txt has the Kubernetes of the oldest OpenShift version.
	table, err := os.ReadFile(repository.Path("hack", "bundle", "openshift.txt"))
	oldest, _, _ := strings.Cut(o.annotations["com.redhat.openshift.versions"], "-")
	kubernetes, _ := strings.CutSuffix(spec.MinKubeVersion, ".0")
	row := "\n" + strings.TrimPrefix(oldest, "=") + " " + kubernetes + "\n"
	must("check_api_version_constraints", strings.Contains(string(table), row), oldest, spec.MinKubeVersion, err)
}
