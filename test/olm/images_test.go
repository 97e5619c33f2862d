// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// imageList is the file that lists all images, for users who mirror them.
const imageList = "docs/operations/images.txt"

func listed(list string) []string {
	var images []string
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			images = append(images, line)
		}
	}
	return images
}

// TestBundleNamesListedImagesOnly checks that imageList has every image that the bundle names, and the bundle's own image.
func TestBundleNamesListedImagesOnly(t *testing.T) {
	images := listed(repository.Read(t, imageList))
	named := regexp.MustCompile(`(?m)^[ -]*(?:image|containerImage): (\S+)$`)
	for _, path := range []string{
		"bundle/manifests/memcached-operator.clusterserviceversion.yaml",
		"bundle/tests/scorecard/config.yaml",
		"catalog/template.yaml",
	} {
		found := named.FindAllStringSubmatch(repository.Read(t, path), -1)
		if len(found) == 0 {
			t.Errorf("%s names no image: fix this test", path)
		}
		for _, match := range found {
			// The bundle and the catalog may name images by digest. The list names tags.
			name, _, _ := strings.Cut(repository.ByTag(t, match[1]), "@")
			if path == "catalog/template.yaml" && !strings.HasSuffix(name, ":v"+repository.Variable(t, "VERSION")) {
				continue // OLM unpacks only the bundle of the version that it installs
			}
			if !slices.Contains(images, name) {
				t.Errorf("%s names %s: add it to %s", path, name, imageList)
			}
		}
	}
}

// TestToolsHaveOneVersion checks that imageList and hack/olm/go.mod name the same versions of operator-sdk and opm.
func TestToolsHaveOneVersion(t *testing.T) {
	images := listed(repository.Read(t, imageList))
	modules := repository.Read(t, "hack/olm/go.mod")
	for module, image := range map[string]string{
		"operator-sdk":      "quay.io/operator-framework/scorecard-test:",
		"operator-registry": "quay.io/operator-framework/opm:",
	} {
		match := regexp.MustCompile(`operator-framework/` + module + ` (v\S+)`).FindStringSubmatch(modules)
		if match == nil {
			t.Fatalf("hack/olm/go.mod does not require %s", module)
		}
		if !slices.Contains(images, image+match[1]) {
			t.Errorf("hack/olm/go.mod has %s %s: list %s%[2]s in %s", module, match[1], image, imageList)
		}
	}
}
