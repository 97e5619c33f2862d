// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The pipeline of OpenShift's community catalog adds the bundle's image to a template, in the channels that release-config.yaml names.
// From this template, opm must render exactly the channels in the bundle's annotations.
func TestCommunityCatalogHasTheChannelsOfTheBundle(t *testing.T) {
	version, err := versionOf(filepath.Join(root, "bundle"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	command := exec.Command(filepath.Join(root, "hack", "bundle", "community.sh"))
	command.Env = append(os.Environ(), "VERSION="+version, "BUNDLE_DIR=bundle", "COMMUNITY_DIR="+folder, "COMMUNITY_REVIEWERS=",
		"OPENSHIFT_CATALOGS=v4.17")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	folder = filepath.Join(folder, "community-operators-prod", "operators", "memcached-operator")
	var release struct {
		Templates []struct {
			Channels []string `json:"channels"`
		} `json:"catalog_templates"`
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(folder, version, "release-config.yaml"))), &release); err != nil {
		t.Fatal(err)
	}
	template := read(t, filepath.Join(folder, "catalog-templates", "semver.yaml"))
	for _, channel := range release.Templates[0].Channels {
		template += channel + ":\n  Bundles:\n  - Image: quay.io/community/memcached-operator:v" + version + "\n"
	}
	file := save(t, filepath.Join(t.TempDir(), "semver.yaml"), template)
	config, err := render(t.Context(), file, "", map[string]string{version: bundleOf(t, version)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, channel := range config.Channels {
		got[channel.Name] = true
	}
	want := "bundle.channels.v1: " + strings.Join(slices.Sorted(maps.Keys(got)), ",") + "\n"
	if annotations := read(t, filepath.Join(root, "bundle", "metadata", "annotations.yaml")); !strings.Contains(annotations, want) {
		t.Errorf("the community catalog would have the channels %v, the bundle names others:\n%s", got, annotations)
	}
}
