// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
)

const root = "../.."

func save(t *testing.T, file, content string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// foldersIn returns the paths of the subfolders of a folder, or none if the folder does not exist.
func foldersIn(t *testing.T, folder string) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// bundleOf returns the folder of a copy of the project's bundle. The copy has another version.
func bundleOf(t *testing.T, version string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), version)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(root, "bundle"))); err != nil {
		t.Fatal(err)
	}
	csv := filepath.Join(folder, "manifests", "memcached-operator.clusterserviceversion.yaml")
	text := read(t, csv)
	current, err := versionOf(folder)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, "\n  name: memcached-operator.v"+current, "\n  name: memcached-operator.v"+version, 1)
	save(t, csv, strings.Replace(text, "\n  version: "+current, "\n  version: "+version, 1))
	return folder
}

const header = "schema: olm.semver\ngenerateMajorChannels: true\n"

// list returns the part of a template that puts these versions into a channel.
func list(name string, versions ...string) string {
	text := name + ":\n  bundles:\n"
	for _, version := range versions {
		text += "  - image: example.com/memcached-operator-bundle:v" + version + "\n"
	}
	return text
}

func rendered(t *testing.T, template string, versions ...string) *declcfg.DeclarativeConfig {
	t.Helper()
	bundles := map[string]string{}
	for _, version := range versions {
		bundles[version] = bundleOf(t, version)
	}
	config, err := render(t.Context(), save(t, filepath.Join(t.TempDir(), "template.yaml"), header+template), "", bundles)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestTheCatalogIsCurrent(t *testing.T) {
	output := t.TempDir()
	bundles := foldersIn(t, filepath.Join(root, "catalog", "bundles"))
	catalog, graph := filepath.Join(output, "catalog.yaml"), filepath.Join(output, "graph.md")
	args := append([]string{"--template", filepath.Join(root, "catalog", "template.yaml"), "--output", catalog, "--graph", graph},
		append(bundles, filepath.Join(root, "bundle"))...)
	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	for tracked, now := range map[string]string{"catalog/memcached-operator/catalog.yaml": catalog, "catalog/graph.md": graph} {
		if read(t, filepath.Join(root, tracked)) != read(t, now) {
			t.Errorf("%s is not what catalog/template.yaml and the bundles give: run make catalog", tracked)
		}
	}
}

// catalog/bundles has the bundle of each released version. The template must name each of these bundles, with the digest of its
// image.
func TestEveryKeptBundleIsInTheTemplate(t *testing.T) {
	template := read(t, filepath.Join(root, "catalog", "template.yaml"))
	for _, folder := range foldersIn(t, filepath.Join(root, "catalog", "bundles")) {
		version, err := versionOf(folder)
		if err != nil {
			t.Fatal(err)
		}
		if version != filepath.Base(folder) {
			t.Errorf("%s holds version %s", folder, version)
		}
		if !strings.Contains(template, "-bundle:v"+version+"@sha256:") {
			t.Errorf("catalog/bundles/%s is not, by its digest, in catalog/template.yaml", version)
		}
	}
}

func TestChannelsOfSeveralReleases(t *testing.T) {
	versions := []string{"1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "2.0.0"}
	config := rendered(t, list("candidate", versions...)+list("stable", "1.0.0", "1.0.1", "1.1.0"), versions...)
	if _, err := declcfg.ConvertToModel(*config); err != nil {
		t.Error(err)
	}
	want := map[string]string{
		"candidate-v1": "1.0.0-rc.1;1.0.0;1.0.1 skips 1.0.0,1.0.0-rc.1;1.1.0 replaces 1.0.1 skips 1.0.0,1.0.0-rc.1",
		"candidate-v2": "2.0.0",
		"stable-v1":    "1.0.0;1.0.1 skips 1.0.0;1.1.0 replaces 1.0.1 skips 1.0.0",
	}
	if len(config.Channels) != len(want) {
		t.Errorf("there are %d channels, want %d", len(config.Channels), len(want))
	}
	for _, channel := range config.Channels {
		var entries []string
		for _, entry := range channel.Entries {
			text := entry.Name
			if entry.Replaces != "" {
				text += " replaces " + entry.Replaces
			}
			if len(entry.Skips) > 0 {
				text += " skips " + strings.Join(entry.Skips, ",")
			}
			entries = append(entries, text)
		}
		if got := strings.ReplaceAll(strings.Join(entries, ";"), "memcached-operator.v", ""); got != want[channel.Name] {
			t.Errorf("the channel %s is\n%s, want\n%s", channel.Name, got, want[channel.Name])
		}
	}
	if got := config.Packages[0].DefaultChannel; got != "stable-v1" {
		t.Errorf("the default channel is %s, want stable-v1", got)
	}
}

// The candidate channel upgrades a release candidate to the release. The stable channel also contains the release, but cannot upgrade a
// candidate to it. A user of a candidate therefore upgrades first, and then switches to the stable channel.
func TestACandidateReachesTheStableChannel(t *testing.T) {
	versions := []string{"1.0.0-rc.1", "1.0.0"}
	config := rendered(t, list("candidate", versions...)+list("stable", "1.0.0"), versions...)
	upgrades := map[string][]string{}
	for _, channel := range config.Channels {
		for _, entry := range channel.Entries {
			upgrades[channel.Name+" "+entry.Name] = append(entry.Skips, entry.Replaces)
		}
	}
	const candidate, release = "memcached-operator.v1.0.0-rc.1", "memcached-operator.v1.0.0"
	if !slices.Contains(upgrades["candidate-v1 "+release], candidate) {
		t.Errorf("the candidate channel does not upgrade the candidate: %q", upgrades)
	}
	if stable, found := upgrades["stable-v1 "+release]; !found || slices.Contains(stable, candidate) {
		t.Errorf("the stable channel lacks the release, or upgrades the candidate, which install.md denies: %q", upgrades)
	}
}

// Each mutation is a mistake in the upgrade graph or in the channels.
func TestBrokenGraphsAreRefused(t *testing.T) {
	versions := []string{"1.0.0", "1.1.0", "1.2.0"}
	tests := map[string]struct {
		mutate func(*declcfg.DeclarativeConfig)
		want   string
	}{
		"a version that nothing upgrades": {
			func(c *declcfg.DeclarativeConfig) {
				c.Channels[0].Entries[2].Skips = nil
				c.Channels[0].Entries[1].Replaces = ""
			},
			"multiple channel heads",
		},
		"a way that goes in a circle": {
			func(c *declcfg.DeclarativeConfig) { c.Channels[0].Entries[0].Replaces = "memcached-operator.v1.2.0" },
			"no channel head",
		},
		"a default channel that does not exist": {
			func(c *declcfg.DeclarativeConfig) { c.Packages[0].DefaultChannel = "stable-v9" }, "stable-v9",
		},
		"a version in no channel": {
			func(c *declcfg.DeclarativeConfig) { c.Channels[0].Entries = c.Channels[0].Entries[1:] }, "memcached-operator.v1.0.0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := rendered(t, list("stable", versions...), versions...)
			if _, err := declcfg.ConvertToModel(*config); err != nil {
				t.Fatalf("before the mutation: %v", err)
			}
			test.mutate(config)
			_, err := declcfg.ConvertToModel(*config)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestMistakesAreToldInOneSentence(t *testing.T) {
	one := bundleOf(t, "1.0.0")
	template := save(t, filepath.Join(t.TempDir(), "template.yaml"), header+list("stable", "1.0.0", "1.1.0"))
	tests := map[string]struct {
		args []string
		want string
	}{
		"a version without a bundle": {
			[]string{"--template", template, one}, "there is no bundle of the version of example.com/memcached-operator-bundle:v1.1.0",
		},
		"a version twice":         {[]string{"--template", template, one, bundleOf(t, "1.0.0")}, "both of version 1.0.0"},
		"a folder without bundle": {[]string{"--template", template, t.TempDir()}, "is not a bundle"},
		"no template":             {[]string{"--template", "/does-not-exist", one}, "no such file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "catalog.yaml")
			err := run(t.Context(), append([]string{"--output", output}, test.args...))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if _, err := os.Stat(output); err == nil {
				t.Error("a catalog was written in spite of the mistake")
			}
		})
	}
}

// The catalog names an image by its digest if the template has a digest, and otherwise by its tag. The template always needs the
// tag, because the tag has the version of the bundle.
func TestABundleWithADigestIsNamedByIt(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	template := strings.ReplaceAll(header+list("stable", "1.0.0", "1.0.1"), ":v1.0.0\n", ":v1.0.0"+digest+"\n")
	file := save(t, filepath.Join(t.TempDir(), "template.yaml"), template)
	config, err := render(t.Context(), file, "", map[string]string{"1.0.0": bundleOf(t, "1.0.0"), "1.0.1": bundleOf(t, "1.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]string{} // by bundle, because the order of bundles is random
	for _, bundle := range config.Bundles {
		images[bundle.Name] = bundle.Image
	}
	for version, want := range map[string]string{"1.0.0": digest, "1.0.1": ":v1.0.1"} {
		if got := images["memcached-operator.v"+version]; got != "example.com/memcached-operator-bundle"+want {
			t.Errorf("the image of the bundle %s is %s, want the one with %s", version, got, want)
		}
	}
}

func TestRepositoryReplacesTheOneOfTheTemplate(t *testing.T) {
	file := save(t, filepath.Join(t.TempDir(), "template.yaml"), header+list("stable", "1.0.0"))
	config, err := render(t.Context(), file, "registry.example.com:5000/bundle", map[string]string{"1.0.0": bundleOf(t, "1.0.0")})
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Bundles[0].Image; got != "registry.example.com:5000/bundle:v1.0.0" {
		t.Errorf("the image of the bundle is %s", got)
	}
}
