// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/repository"
)

// The folders that "make community" writes, one for each community catalog.
const (
	forKubernetes = "community-operators/operators/memcached-operator"
	forOpenShift  = "community-operators-prod/operators/memcached-operator"
)

// community runs hack/bundle/community.sh, and returns its output and exit code. By default, the script's environment fits the
// committed bundle. Each NAME=value in variables overrides one environment variable.
func community(t *testing.T, folder string, variables ...string) (output string, code int) {
	t.Helper()
	command := exec.Command(repository.Path("hack", "bundle", "community.sh"))
	command.Env = append(os.Environ(), "VERSION="+repository.Variable(t, "VERSION"), "BUNDLE_DIR=bundle", "COMMUNITY_DIR="+folder,
		"COMMUNITY_REVIEWERS=alice,bob", "OPENSHIFT_CATALOGS="+strings.Join(catalogs(t), ","))
	command.Env = append(command.Env, variables...)
	text, err := command.CombinedOutput()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text)), code
}

// submitted runs community.sh for the committed bundle, and then for a bundle of a later version. It returns the folder that both
// runs have written to.
func submitted(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	const raised = "99.0.0"
	next := bundleOf(t, filepath.Join(folder, "next"), raised)
	for _, variables := range [][]string{nil, {"VERSION=" + raised, "BUNDLE_DIR=" + next}} {
		if output, code := community(t, folder, variables...); code != 0 {
			t.Fatal(output)
		}
	}
	return folder
}

// bundleOf copies the committed bundle into the folder, gives the copy another version, and returns the folder.
func bundleOf(t *testing.T, folder, version string) string {
	t.Helper()
	if err := os.CopyFS(folder, os.DirFS(repository.Path("bundle"))); err != nil {
		t.Fatal(err)
	}
	current := repository.Variable(t, "VERSION")
	replaceIn(t, filepath.Join(folder, "manifests", "memcached-operator.clusterserviceversion.yaml"), map[string]string{
		"\n  name: memcached-operator.v" + current: "\n  name: memcached-operator.v" + version,
		"\n  version: " + current:                  "\n  version: " + version,
	})
	return folder
}

// replaceIn replaces each key of texts with its value in a file. The file must contain each key.
func replaceIn(t *testing.T, file string, texts map[string]string) {
	t.Helper()
	content := repository.ReadFile(t, file)
	for before, after := range texts {
		if !strings.Contains(content, before) {
			t.Fatalf("%s has no %q", file, before)
		}
		content = strings.ReplaceAll(content, before, after)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// operator holds what the folder of an operator in a community catalog contains.
type operator struct {
	name string
	ci   ciConfig
	// template is the content of catalog-templates/semver.yaml.
	template map[string]any
	// bundles are sorted by version.
	bundles []submission
	// invalid names the files that cannot be decoded strictly, with the reasons.
	invalid []string
}

// ciConfig has those fields of operatorcert/schemas/ci-schema.json that apply to community operators.
type ciConfig struct {
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

// releaseConfig has those fields of operatorcert/schemas/release-config-schema.json that apply to a semver template.
type releaseConfig struct {
	CatalogTemplates []struct {
		TemplateName string   `json:"template_name"`
		Channels     []string `json:"channels"`
	} `json:"catalog_templates"`
}

// submission holds what the folder of one version in a community catalog contains.
type submission struct {
	folder      string
	csv         operatorsv1alpha1.ClusterServiceVersion
	annotations map[string]string
	kinds       []string
	release     *releaseConfig
}

func readOperator(t *testing.T, folder string) operator {
	t.Helper()
	found := operator{name: filepath.Base(folder)}
	found.strictly(t, filepath.Join(folder, "ci.yaml"), &found.ci)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == "catalog-templates" {
			found.strictly(t, filepath.Join(folder, entry.Name(), "semver.yaml"), &found.template)
		} else if entry.IsDir() {
			found.bundles = append(found.bundles, found.readSubmission(t, filepath.Join(folder, entry.Name())))
		}
	}
	return found
}

// strictly decodes a YAML file into a value. If the file does not fit the type of the value, o.invalid gets the name of the file
// and the error.
func (o *operator) strictly(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(repository.ReadFile(t, file)), into); err != nil {
		o.invalid = append(o.invalid, filepath.Base(file)+": "+err.Error())
	}
}

func (o *operator) readSubmission(t *testing.T, folder string) submission {
	t.Helper()
	found := submission{folder: filepath.Base(folder)}
	o.strictly(t, filepath.Join(folder, "manifests", "memcached-operator.clusterserviceversion.yaml"), &found.csv)
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	o.strictly(t, filepath.Join(folder, "metadata", "annotations.yaml"), &metadata)
	found.annotations = metadata.Annotations
	if config := filepath.Join(folder, "release-config.yaml"); exists(config) {
		found.release = &releaseConfig{}
		o.strictly(t, config, found.release)
	}
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var object struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(repository.ReadFile(t, file)), &object); err != nil {
			t.Fatal(err)
		}
		found.kinds = append(found.kinds, object.APIVersion+" "+object.Kind)
	}
	return found
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Both catalogs must accept what "make community" writes for the first version and for a later one.
func TestCommunityCatalogsAcceptTheOperator(t *testing.T) {
	folder := submitted(t)
	for _, catalog := range []string{forKubernetes, forOpenShift} {
		found := readOperator(t, filepath.Join(folder, catalog))
		if len(found.bundles) != 2 {
			t.Fatalf("%s has %d versions, want 2", catalog, len(found.bundles))
		}
		for _, rule := range rules {
			for _, finding := range rule.findings(found) {
				t.Errorf("%s: %s (%s): %s", catalog, rule.name, rule.source, finding)
			}
		}
	}
}

// After the first submission, the pipelines of the catalogs change ci.yaml and semver.yaml. Therefore "make community" must not
// overwrite them.
func TestCommunityKeepsWhatTheCatalogsOwn(t *testing.T) {
	folder := submitted(t)
	changed := []string{
		filepath.Join(folder, forKubernetes, "ci.yaml"), filepath.Join(folder, forOpenShift, "ci.yaml"),
		filepath.Join(folder, forOpenShift, "catalog-templates", "semver.yaml"),
	}
	for _, file := range changed {
		if err := os.WriteFile(file, []byte("changed: true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if output, code := community(t, folder); code != 0 || !strings.Contains(output, "kept ") {
		t.Errorf("exit code %d, output %q", code, output)
	}
	for _, file := range changed {
		if content := repository.ReadFile(t, file); content != "changed: true\n" {
			t.Errorf("%s was overwritten:\n%s", file, content)
		}
	}
}

// A pre-release is for the candidate channel only.
func TestCommunityReleasesCandidatesAsSuch(t *testing.T) {
	folder := t.TempDir()
	const version = "99.0.0-rc.1"
	candidate := bundleOf(t, filepath.Join(t.TempDir(), "bundle"), version)
	if output, code := community(t, folder, "VERSION="+version, "BUNDLE_DIR="+candidate); code != 0 {
		t.Fatal(output)
	}
	config := repository.ReadFile(t, filepath.Join(folder, forOpenShift, version, "release-config.yaml"))
	if !strings.Contains(config, "channels: [Candidate]\n") {
		t.Errorf("the release candidate %s is released as\n%s", version, config)
	}
}

func TestCommunityRefusesBadInputInOneSentence(t *testing.T) {
	for variable, want := range map[string]string{
		"BUNDLE_DIR=docs":              "BUNDLE_DIR is 'docs', which contains no bundle: run make bundle.",
		"VERSION=0.0.1":                "but VERSION is 0.0.1: run make bundle.",
		"OPENSHIFT_CATALOGS=4.17":      "OPENSHIFT_CATALOGS is '4.17', but must be OpenShift versions separated by commas",
		"COMMUNITY_REVIEWERS=@alice":   "COMMUNITY_REVIEWERS is '@alice', but must be names of GitHub users",
		"COMMUNITY_REVIEWERS=alice bo": "COMMUNITY_REVIEWERS is 'alice bo', but must be names of GitHub users",
	} {
		folder := t.TempDir()
		output, code := community(t, folder, variable)
		if code != 2 || !strings.Contains(output, want) || strings.Contains(output, "\n") {
			t.Errorf("%s: exit code %d, output %q; want 2 and one line with %q", variable, code, output, want)
		}
		if exists(filepath.Join(folder, "community-operators")) {
			t.Errorf("%s: something was written", variable)
		}
	}
}
