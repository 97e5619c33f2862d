// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/repository"
)

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// The manifest must name each archive with its checksum and its command. The archives are stand-ins for those that "make plugin"
// builds.
func TestKrewManifest(t *testing.T) {
	dir := t.TempDir()
	sums := map[string]string{}
	for _, platform := range []string{"linux_amd64", "darwin_arm64", "windows_amd64"} {
		content := []byte("the archive for " + platform)
		sums[platform] = fmt.Sprintf("%x", sha256.Sum256(content))
		if err := os.WriteFile(filepath.Join(dir, "kubectl-memcached_v1.2.3_"+platform+".tar.gz"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	printed, err := runKrew(dir, "1.2.3")
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	var manifest struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Version   string         `json:"version"`
			Homepage  string         `json:"homepage"`
			Platforms []krewPlatform `json:"platforms"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(printed, &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Kind != "Plugin" || manifest.Metadata.Name != "memcached" || manifest.Spec.Version != "v1.2.3" ||
		manifest.Spec.Homepage != "https://example.com/project" {
		t.Errorf("got %+v", manifest)
	}
	got := map[string][]string{}
	for _, platform := range manifest.Spec.Platforms {
		labels := platform.Selector.MatchLabels
		got[labels["os"]+"_"+labels["arch"]] = []string{platform.URI, platform.SHA256, platform.Bin}
	}
	const folder = "https://example.com/project/releases/download/v1.2.3/kubectl-memcached_v1.2.3_"
	want := map[string][]string{}
	for platform, sum := range sums {
		command := "kubectl-memcached"
		if strings.HasPrefix(platform, "windows") {
			command += ".exe"
		}
		want[platform] = []string{folder + platform + ".tar.gz", sum, command}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	if printed, err := runKrew(dir, "1.2.4"); err == nil || !strings.Contains(string(printed), "run make plugin") {
		t.Errorf("a version without archives: %v\n%s", err, printed)
	}
}

func runKrew(dir, version string) ([]byte, error) {
	command := exec.Command(repository.Path("hack", "plugin", "krew.sh"), dir)
	command.Env = append(os.Environ(), "VERSION="+version, "PLUGIN_URL=https://example.com/project/releases/download")
	return command.CombinedOutput()
}
