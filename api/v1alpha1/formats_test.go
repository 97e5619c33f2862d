// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	// These imports register the digest algorithms that the kubelet knows.
	_ "crypto/sha256"
	_ "crypto/sha512"
	"fmt"
	"strings"

	"github.com/distribution/reference"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Ends of the messages that begin with "spec.image must".
const (
	noReference = "be an image reference such as memcached:1.6.45, registry.example.com:5000/team/memcached:1.6.45 or " +
		"memcached@sha256:<64 hexadecimal digits>"
	imageID = "name a repository, such as memcached, and not the id of an image"
	tooLong = "not have a repository of more than 247 characters: use a shorter one"
)

var (
	sha256 = "@sha256:" + strings.Repeat("a1", 32)
	sha512 = "@sha512:" + strings.Repeat("a1", 64)
	tag128 = ":" + strings.Repeat("t", 128)
)

// The kubelet parses the image with ParseNormalizedNamed. A pod never starts with an image that this function refuses, so the rules
// of spec.image must refuse the same images.
var _ = DescribeTable("spec.image is refused if the kubelet could not parse it",
	func(ctx SpecContext, parsable bool, words string, images ...string) {
		for _, image := range images {
			_, err := reference.ParseNormalizedNamed(image)
			Expect(err == nil).To(Equal(parsable), "ParseNormalizedNamed of %q: %v", image, err)
			_, err = dryRunSpec(ctx, fmt.Sprintf(`{size: 1, image: %q}`, image))
			expectRefusalIf(words != "", err, fmt.Sprintf("spec.image: Invalid value: %q: spec.image must %s", image, words))
		}
	},
	EntryDescription("parsable: %t, words: %q"),
	Entry(nil, true, "", "memcached", "memcached:1.6.45", "memcached:latest", "library/memcached", "docker.io/library/memcached:1.6.45-alpine",
		"localhost/memcached", "localhost:5000/memcached", "registry.example.com/team/sub/memcached:v1", "registry.example.com:5000/memcached",
		"Registry.Example.com/memcached", "TEAM/memcached", "10.0.0.1:5000/memcached:1", "[2001:db8::1]/memcached",
		"[2001:DB8::1]:5000/team/memcached:1.6.45", "memcached:1/2", "memcached"+sha256, "memcached:1.6.45"+sha256,
		"registry.example.com:5000/memcached:1.6.45"+sha512, "memcached"+tag128, "mem.cached_1__2---3/x-y", "my_registry.example.com/memcached",
		strings.Repeat("a", 63), strings.Repeat("a", 65), strings.Repeat("a", 247)+":1", "registry.example.com:5000/"+strings.Repeat("a", 247),
		strings.Repeat("a", 100)+"/"+strings.Repeat("a", 146)+tag128+sha256),
	Entry(nil, false, noReference, "", " ", "memcached ", " memcached", "mem cached", "memcached\n", "Memcached", "registry.example.com/Team/memcached",
		"memcached:", "memcached:-1", "memcached:.1", "memcached:1:2", "memcached:1.6.45é", "memcached"+tag128+"t", "memcached@", "memcached@sha256",
		"memcached@sha256:abc", "memcached@sha256:"+strings.Repeat("A1", 32), "memcached@sha256:"+strings.Repeat("a1", 33),
		"memcached"+sha256+":1.6.45", "memcached"+sha256+sha256, sha256, ":1.6.45", "/memcached", "memcached/", "team//memcached", "-memcached",
		"memcached-", "mem..cached", "mem___cached", "mem.-cached", "_memcached", "registry-.example.com:5000/memcached",
		"registry.example.com:port/memcached", "2001:db8::1/memcached", "[]/memcached", "[0]/memcached", "[::1/memcached", "http://memcached",
		"https://registry.example.com/memcached:1", "docker://memcached", "缓存", "memcached:🚀", "ذاكرة/memcached", "memcached:${TAG}", "memcached:1;rm"),
	Entry(nil, false, imageID, strings.Repeat("a1", 32)),
	Entry(nil, false, tooLong, strings.Repeat("a", 248), "registry.example.com/"+strings.Repeat("a", 256)),
	// The parser's limit is 255 characters, including "library/", which it adds to the short names of Docker Hub. So the rule's
	// limit, which is the same for every registry, is 8 characters lower.
	Entry(nil, true, tooLong, "registry.example.com/"+strings.Repeat("a", 248)),
	// Registries serve images by their sha256, and some also by their sha512. A host in brackets is an IPv6 address, which has a colon.
	Entry(nil, true, noReference, "memcached@sha384:"+strings.Repeat("a1", 48), "[0]:5000/memcached"),
)

// Kubernetes checks keys with IsQualifiedName. It converts keys of annotations to lower case first.
var _ = DescribeTable("A key of labels or annotations is refused if and only if Kubernetes refuses it",
	func(ctx SpecContext, parent, child string) {
		for _, key := range []string{
			"a", "A-b_c.1", strings.Repeat("a", 63), strings.Repeat("a", 64), "app.kubernetes.io/version", "mykubernetes.io/a", "k8s-apps",
			"example.com/team", "Example.com/team", "1a-b.c/" + strings.Repeat("a", 63), strings.Repeat("a", 253) + "/a",
			strings.Repeat("a", 254) + "/a", "", "/", "a/", "/a", "a/b/c", "-a", "a-", "_", "a b", "a\n", "🚀", "فريق", "-a/a", "a-/a", "a..b/a",
			"a.-b/a", ".a/a", "a_b/a",
		} {
			qualified := key
			if child == "annotations" {
				qualified = strings.ToLower(key)
			}
			_, err := dryRunSpec(ctx, fmt.Sprintf(`{size: 1, %s: {%s: {%q: a}}}`, parent, child, key))
			expectRefusalIf(len(validation.IsQualifiedName(qualified)) > 0, err, "spec."+parent+"."+child+": Invalid value: "+child+
				" must have keys such as team or example.com/team: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' and '.'")
		}
	},
	EntryDescription("spec.%s.%s"),
	Entry(nil, "podMetadata", "labels"), Entry(nil, "podMetadata", "annotations"), Entry(nil, "service", "labels"), Entry(nil, "service", "annotations"),
)

// The keys a, b and c and the value of a have 8195 bytes, and 8189 more are allowed.
var _ = DescribeTable("Labels and annotations have at most 16384 bytes", func(ctx SpecContext, parent string) {
	for value, accepted := range map[string]bool{
		strings.Repeat("a", 8189):       true,
		strings.Repeat("a", 8190):       false,
		"é" + strings.Repeat("a", 8188): false, // é has two bytes
	} {
		_, err := dryRunSpec(ctx, fmt.Sprintf(`{size: 1, %s: {labels: {c: ""}, annotations: {a: %s, b: %s}}}`, parent, strings.Repeat("a", 8192), value))
		expectRefusalIf(!accepted, err, "spec."+parent+": Invalid value: ",
			"labels and annotations must have at most 16384 bytes together, their keys included: remove or shorten some")
	}
},
	EntryDescription("spec.%s"), Entry(nil, "podMetadata"), Entry(nil, "service"),
)
