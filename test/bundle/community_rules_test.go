// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// rule reimplements a check of the pipelines of the community catalogs, and has the name of that check. The pipelines are in
// redhat-openshift-ecosystem/operator-pipelines; the rules follow commit 422dfd6e9876. The pipelines also run the validators of
// operator-sdk: see validators_test.go.
type rule struct {
	name string
	// source is the file of the check, relative to the folder operatorcert.
	source   string
	findings func(operator) []string
}

func everyBundle(findings func(operator, submission) []string) func(operator) []string {
	return func(o operator) []string {
		var all []string
		for _, bundle := range o.bundles {
			all = append(all, findings(o, bundle)...)
		}
		return all
	}
}

// rules has no check_upgrade_graph_loop. Only bundles with "replaces" can form a loop, and replacesNothing refuses such bundles.
var rules = []rule{
	{"check_schema_operator_ci_config", "static_tests/common/operator.py", fitsSchema},
	{"check_catalog_usage_ci_config", "static_tests/common/operator.py", mapsEachCatalogOnce},
	{"check_operator_name", "static_tests/common/bundle.py", everyBundle(hasOneName)},
	{"check_bundle_release_config", "static_tests/common/bundle.py", everyBundle(isReleasedToTheTemplate)},
	{"check_network_policy_presence", "static_tests/common/bundle.py", everyBundle(hasNoNetworkPolicy)},
	{"check_operator_version_directory_name", "static_tests/common/bundle.py", everyBundle(isInTheFolderOfItsVersion)},
	{"check_required_fields", "static_tests/community/bundle.py", everyBundle(hasRequiredFields)},
	{"check_api_version_constraints", "static_tests/community/bundle.py", everyBundle(runsOnItsOpenShiftVersions)},
	{"check_replaces_availability", "static_tests/common/bundle.py", everyBundle(replacesNothing)},
	{"check_dangling_bundles", "static_tests/community/bundle.py", hasNoDanglingBundle},
	{"SemverTemplate.amend", "entrypoints/add_bundle_to_fbc.py", hasATemplateToAmend},
}

func fitsSchema(o operator) []string {
	findings := slices.Clone(o.invalid)
	if graph := o.ci.UpdateGraph; graph != "" && graph != "semver-mode" && graph != "replaces-mode" {
		findings = append(findings, "updateGraph is "+graph)
	}
	for _, mapping := range o.ci.FBC.CatalogMapping {
		if mapping.TemplateName == "" || len(mapping.CatalogNames) == 0 ||
			mapping.Type != "olm.semver" && mapping.Type != "olm.template.basic" {
			findings = append(findings, fmt.Sprintf("catalog_mapping has %+v", mapping))
		}
	}
	if strategy := o.ci.FBC.VersionPromotionStrategy; !slices.Contains([]string{"", "review-needed", "always", "never"}, strategy) {
		findings = append(findings, "version_promotion_strategy is "+strategy)
	}
	return findings
}

func mapsEachCatalogOnce(o operator) []string {
	var findings []string
	seen := map[string]bool{}
	for _, mapping := range o.ci.FBC.CatalogMapping {
		for _, catalog := range mapping.CatalogNames {
			if seen[catalog] {
				findings = append(findings, catalog+" is mapped twice")
			}
			seen[catalog] = true
		}
	}
	return findings
}

func hasOneName(o operator, bundle submission) []string {
	inCSV, _, _ := strings.Cut(bundle.csv.Name, ".")
	if inMetadata := bundle.annotations["operators.operatorframework.io.bundle.package.v1"]; inCSV != o.name || inMetadata != o.name {
		return []string{fmt.Sprintf("the operator is %s by its folder, %s by its metadata and %s by its CSV", o.name, inMetadata, inCSV)}
	}
	return nil
}

func isReleasedToTheTemplate(o operator, bundle submission) []string {
	if bundle.release == nil {
		if o.ci.FBC.Enabled {
			return []string{bundle.folder + " has no release-config.yaml, so no catalog would have it"}
		}
		return nil
	}
	if !o.ci.FBC.Enabled || len(o.ci.FBC.CatalogMapping) == 0 {
		return []string{bundle.folder + " has a release-config.yaml, but ci.yaml has no template for it"}
	}
	var findings []string
	for _, release := range bundle.release.CatalogTemplates {
		if release.TemplateName != o.ci.FBC.CatalogMapping[0].TemplateName {
			findings = append(findings, bundle.folder+" is released to "+release.TemplateName)
		}
		for _, channel := range release.Channels {
			if !slices.Contains([]string{"Candidate", "Fast", "Stable"}, channel) {
				findings = append(findings, bundle.folder+" is released to the channel "+channel)
			}
		}
	}
	return findings
}

func hasNoNetworkPolicy(_ operator, bundle submission) []string {
	if slices.Contains(bundle.kinds, "networking.k8s.io/v1 NetworkPolicy") {
		return []string{bundle.folder + " contains a NetworkPolicy"}
	}
	return nil
}

func isInTheFolderOfItsVersion(_ operator, bundle submission) []string {
	if version := bundle.csv.Spec.Version.String(); version != bundle.folder {
		return []string{"the folder " + bundle.folder + " has version " + version}
	}
	return nil
}

func hasRequiredFields(_ operator, bundle submission) []string {
	var findings []string
	spec, notes := bundle.csv.Spec, bundle.csv.Annotations
	for field, check := range map[string]struct{ value, pattern string }{
		"containerImage":    {notes["containerImage"], `^([^/]+/)+[^/:]+:.+`},
		"createdAt":         {notes["createdAt"], `^\d{4}-\d\d-\d\dT`},
		"repository":        {notes["repository"], `^https?://.+`},
		"support":           {notes["support"], `^.{3,}`},
		"description":       {notes["description"], `^.{10,}`},
		"displayName":       {spec.DisplayName, `^.{3,50}$`},
		"spec.description":  {spec.Description, `(?s)^.{20,}`},
		"provider.name":     {spec.Provider.Name, `^.{3,}`},
		"keywords":          {strings.Join(spec.Keywords, ","), `.`},
		"an icon":           {strconv.Itoa(len(spec.Icon)), `^1$`},
		"maintainers":       {names(spec.Maintainers), `.+ <.+@.+>`},
		"links":             {links(spec.Links), `.+ <https://.+>`},
		"minKubeVersion":    {spec.MinKubeVersion, `^\d+\.\d+\.\d+$`},
		"the category":      {notes["categories"], `^Database$`},
		"a short operator":  {bundle.csv.Name, `^[a-z0-9-]+\.v\d+\.\d+\.\d+`},
		"a capability name": {notes["capabilities"], `^(Basic Install|Seamless Upgrades|Full Lifecycle|Deep Insights|Auto Pilot)$`},
	} {
		if !regexp.MustCompile(check.pattern).MatchString(check.value) {
			findings = append(findings, fmt.Sprintf("%s: %s is %q", bundle.folder, field, check.value))
		}
	}
	return findings
}

func names(maintainers []operatorsv1alpha1.Maintainer) string {
	var all []string
	for _, maintainer := range maintainers {
		all = append(all, maintainer.Name+" <"+maintainer.Email+">")
	}
	return strings.Join(all, ", ")
}

func links(of []operatorsv1alpha1.AppLink) string {
	var all []string
	for _, link := range of {
		all = append(all, link.Name+" <"+link.URL+">")
	}
	return strings.Join(all, ", ")
}

func runsOnItsOpenShiftVersions(_ operator, bundle submission) []string {
	const annotation = "com.redhat.openshift.versions"
	match := regexp.MustCompile(`^=?(v\d+\.\d+)(-v\d+\.\d+)?$`).FindStringSubmatch(bundle.annotations[annotation])
	if match == nil {
		return []string{fmt.Sprintf("%s: minKubeVersion is set, but the annotation %s is %q", bundle.folder, annotation, bundle.annotations[annotation])}
	}
	_, kubernetes, err := openShift()
	if err != nil {
		return []string{err.Error()}
	}
	if oldest := bundle.csv.Spec.MinKubeVersion; kubernetes[match[1]]+".0" != oldest {
		return []string{fmt.Sprintf("%s: OpenShift %s has Kubernetes %q, and minKubeVersion is %s", bundle.folder, match[1], kubernetes[match[1]], oldest)}
	}
	return nil
}

func replacesNothing(_ operator, bundle submission) []string {
	if spec := bundle.csv.Spec; spec.Replaces != "" || len(spec.Skips) > 0 || bundle.csv.Annotations["olm.skipRange"] != "" {
		return []string{bundle.folder + " has a place in the graph, which is the template's and the catalog's to say"}
	}
	return nil
}

// hasNoDanglingBundle requires semver-mode if an operator has several bundles and no file-based catalog (FBC). In other modes, each
// version must name its predecessor, but our bundles name none.
func hasNoDanglingBundle(o operator) []string {
	if !o.ci.FBC.Enabled && o.ci.UpdateGraph != "semver-mode" && len(o.bundles) > 1 {
		return []string{"nothing upgrades " + o.bundles[0].folder}
	}
	return nil
}

// hasATemplateToAmend compares the keys of the template case-sensitively, as the pipeline does. opm ignores the case.
func hasATemplateToAmend(o operator) []string {
	if !o.ci.FBC.Enabled {
		return nil
	}
	for key, want := range map[string]any{"Schema": "olm.semver", "GenerateMajorChannels": true, "GenerateMinorChannels": false} {
		if o.template[key] != want {
			return []string{fmt.Sprintf("%s of the template is %v, want %v", key, o.template[key], want)}
		}
	}
	return nil
}

// Each rule must find the mistake that its mutation makes.
func TestCommunityRulesFindMistakes(t *testing.T) {
	version := filepath.Join(forOpenShift, "99.0.0")
	csv := filepath.Join(version, "manifests", "memcached-operator.clusterserviceversion.yaml")
	replace := func(file, before, after string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			t.Helper()
			replaceIn(t, filepath.Join(folder, file), map[string]string{before: after})
		}
	}
	mistakes := map[string]struct {
		catalog string
		mutate  func(*testing.T, string)
	}{
		"check_schema_operator_ci_config": {forKubernetes, replace(forKubernetes+"/ci.yaml", "semver-mode", "semver")},
		"check_catalog_usage_ci_config":   {forOpenShift, replace(forOpenShift+"/ci.yaml", "v4.18,", "v4.17,")},
		"check_operator_name": {
			forOpenShift, replace(version+"/metadata/annotations.yaml", "package.v1: memcached-operator", "package.v1: memcached"),
		},
		"check_bundle_release_config": {forOpenShift, replace(version+"/release-config.yaml", "Candidate,", "candidate-v1,")},
		"check_network_policy_presence": {forOpenShift, func(t *testing.T, folder string) {
			t.Helper()
			policy := "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
			if err := os.WriteFile(filepath.Join(folder, version, "manifests", "policy.yaml"), []byte(policy), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"check_operator_version_directory_name": {forOpenShift, replace(csv, "\n  version: 99.0.0", "\n  version: 99.0.1")},
		"check_required_fields":                 {forOpenShift, replace(csv, "displayName: Memcached Operator", "displayName: M")},
		"check_api_version_constraints": {
			forOpenShift, replace(version+"/metadata/annotations.yaml", "versions: v4.17", "versions: v4.16"),
		},
		"check_replaces_availability": {forOpenShift, replace(csv, "\n  version: ", "\n  replaces: memcached-operator.v1.0.0\n  version: ")},
		"check_dangling_bundles":      {forKubernetes, replace(forKubernetes+"/ci.yaml", "semver-mode", "replaces-mode")},
		"SemverTemplate.amend":        {forOpenShift, replace(forOpenShift+"/catalog-templates/semver.yaml", "Schema", "schema")},
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			mistake, ok := mistakes[rule.name]
			if !ok {
				t.Fatal("the rule has no mutation")
			}
			folder := submitted(t)
			mistake.mutate(t, folder)
			if len(rule.findings(readOperator(t, filepath.Join(folder, mistake.catalog)))) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}
