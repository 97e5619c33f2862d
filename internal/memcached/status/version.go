// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/example/memcached-operator/internal/memcached"
)

// unknownVersion is the version of memcached if the image's name does not contain it.
const unknownVersion = "unknown"

// oldestVersion is the oldest supported memcached. Earlier versions lack options or fixes on which the memory limit depends.
var oldestVersion = [3]int{1, 6, 45}

// versionTag matches an image of memcached whose tag is a full version, perhaps with a variant. It does not match a tag such as
// 1.6, which moves from version to version. It does not match a tag with a digest either, because then the tag has no effect.
var versionTag = regexp.MustCompile(`(?:^|/)memcached:v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:[-_.][\w.-]*)?$`)

// versionOf returns the memcached version in the name of an image, and whether it is too old. It ignores the tag of an image with
// another name than memcached, such as my-memcached, because the tag may be the version of something else.
func versionOf(image string) (version string, old bool) {
	match := versionTag.FindStringSubmatch(image)
	if match == nil {
		return unknownVersion, false
	}
	var numbers [3]int
	for i := range numbers {
		numbers[i], _ = strconv.Atoi(match[i+1]) // the pattern allows only a few digits
	}
	return strings.Join(match[1:], "."), slices.Compare(numbers[:], oldestVersion[:]) < 0
}

// image returns the image that the nodes run, or will run after the rollout, or "". At rest, nodes of a StatefulSet may run an older image
// than its template has.
func (f *facts) image() string {
	if f.Workload == nil {
		return ""
	}
	image := f.Workload.Image()
	if f.plan.Older == 0 || f.plan.Rollout.Outdated > 0 {
		return image
	}
	for _, node := range f.Workload.Nodes(f.Pods) {
		if container := memcached.ContainerOf(&node.Spec, memcached.ContainerName); container != nil && container.Image != image {
			return container.Image
		}
	}
	return image
}

// unsupported returns a message with the remedy if nodes run, or will run, a memcached that is too old. Otherwise it returns an
// empty text.
func (f *facts) unsupported() string {
	version, old := versionOf(f.image())
	if !old {
		return ""
	}
	remedy := "set spec.image to a newer one, or remove it"
	if f.Memcached.Spec.Image == "" {
		remedy = "adopt the operator's default image: " + restartCommand(f.Memcached)
	}
	return fmt.Sprintf("memcached %s is older than %d.%d.%d, the oldest supported version: %s",
		version, oldestVersion[0], oldestVersion[1], oldestVersion[2], remedy)
}
