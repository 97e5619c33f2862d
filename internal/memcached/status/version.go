// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"regexp"
	"strconv"
)

// unknownVersion is the version of memcached in an image whose name does not say it.
const unknownVersion = "unknown"

// oldestVersion is the oldest supported memcached. Earlier ones lack options or fixes that the memory limit relies on.
var oldestVersion = [3]int{1, 6, 45}

// versionTag matches an image of memcached with its version as the tag, perhaps with a variant. A tag such as 1.6 moves from version
// to version, and beside a digest a tag means nothing.
var versionTag = regexp.MustCompile(`(?:^|/)memcached:v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:[-_.][\w.-]*)?$`)

// versionOf returns the memcached version in the name of an image, and whether it is too old. Images of other publishers have
// version numbers of their own, so their tags count for nothing.
func versionOf(image string) (version string, old bool) {
	match := versionTag.FindStringSubmatch(image)
	if match == nil {
		return unknownVersion, false
	}
	for i, oldest := range oldestVersion {
		number, _ := strconv.Atoi(match[i+1]) // a few digits
		if number != oldest {
			return match[1] + "." + match[2] + "." + match[3], number < oldest
		}
	}
	return match[1] + "." + match[2] + "." + match[3], false
}

// unsupported returns a message with the remedy if nodes run, or will run, a memcached that is too old; empty otherwise.
func (f facts) unsupported() string {
	if f.Workload == nil {
		return ""
	}
	version, old := versionOf(f.Workload.Image())
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
