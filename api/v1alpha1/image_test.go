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
)

var (
	sha256 = "@sha256:" + strings.Repeat("a1", 32)
	sha512 = "@sha512:" + strings.Repeat("a1", 64)
	tag128 = ":" + strings.Repeat("t", 128)
)

// The kubelet parses the image with ParseNormalizedNamed. A pod never starts with an image that this function refuses, so the rules
// of spec.image must refuse the same images. The end of the table lists images that only the rules refuse, and why.
var _ = DescribeTable("spec.image is refused if the kubelet could not parse it",
	func(ctx SpecContext, image, cause string, parsable bool) {
		_, parseErr := reference.ParseNormalizedNamed(image)
		Expect(parseErr == nil).To(Equal(parsable), "ParseNormalizedNamed: %v", parseErr)

		_, err := dryRunSpec(ctx, fmt.Sprintf(`{size: 1, image: %q}`, image))
		if cause == "" {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		expectRefusal(err, fmt.Sprintf("spec.image: Invalid value: %q: spec.image must %s", image, cause))
	},
	EntryDescription("%.80q %.0s %.0t"),
	valid("memcached"),
	valid("memcached:1.6.45"),
	valid("memcached:latest"),
	valid("library/memcached"),
	valid("docker.io/library/memcached:1.6.45-alpine"),
	valid("localhost/memcached"),
	valid("localhost:5000/memcached"),
	valid("registry.example.com/team/sub/memcached:v1"),
	valid("registry.example.com:5000/memcached"),
	valid("Registry.Example.com/memcached"),
	valid("TEAM/memcached"),
	valid("10.0.0.1:5000/memcached:1"),
	valid("[2001:db8::1]/memcached"),
	valid("[2001:DB8::1]:5000/team/memcached:1.6.45"),
	// Here memcached:1 is a host with a port.
	valid("memcached:1/2"),
	valid("memcached"+sha256),
	valid("memcached:1.6.45"+sha256),
	valid("registry.example.com:5000/memcached:1.6.45"+sha512),
	valid("memcached"+tag128),
	valid("mem.cached_1__2---3/x-y"),
	valid("my_registry.example.com/memcached"),
	valid(strings.Repeat("a", 63)),
	valid(strings.Repeat("a", 65)),
	valid(strings.Repeat("a", 247)+":1"),
	valid("registry.example.com:5000/"+strings.Repeat("a", 247)),
	valid(strings.Repeat("a", 100)+"/"+strings.Repeat("a", 146)+tag128+sha256),

	unparsable(""),
	unparsable(" "),
	unparsable("memcached "),
	unparsable(" memcached"),
	unparsable("mem cached"),
	unparsable("memcached\n"),
	unparsable("Memcached"),
	unparsable("registry.example.com/Team/memcached"),
	unparsable("memcached:"),
	unparsable("memcached:-1"),
	unparsable("memcached:.1"),
	unparsable("memcached:1:2"),
	unparsable("memcached:1.6.45é"),
	unparsable("memcached"+tag128+"t"),
	unparsable("memcached@"),
	unparsable("memcached@sha256"),
	unparsable("memcached@sha256:abc"),
	unparsable("memcached@sha256:"+strings.Repeat("A1", 32)),
	unparsable("memcached@sha256:"+strings.Repeat("a1", 33)),
	unparsable("memcached"+sha256+":1.6.45"),
	unparsable("memcached"+sha256+sha256),
	unparsable(sha256),
	unparsable(":1.6.45"),
	unparsable("/memcached"),
	unparsable("memcached/"),
	unparsable("team//memcached"),
	unparsable("-memcached"),
	unparsable("memcached-"),
	unparsable("mem..cached"),
	unparsable("mem___cached"),
	unparsable("mem.-cached"),
	unparsable("_memcached"),
	unparsable("registry-.example.com:5000/memcached"),
	unparsable("registry.example.com:port/memcached"),
	unparsable("2001:db8::1/memcached"),
	unparsable("[]/memcached"),
	unparsable("[0]/memcached"),
	unparsable("[::1/memcached"),
	unparsable("http://memcached"),
	unparsable("https://registry.example.com/memcached:1"),
	unparsable("docker://memcached"),
	unparsable("缓存"),
	unparsable("memcached:🚀"),
	unparsable("ذاكرة/memcached"),
	unparsable("memcached:${TAG}"),
	unparsable("memcached:1;rm"),

	Entry(nil, strings.Repeat("a1", 32), imageID, false),
	Entry(nil, strings.Repeat("a", 248), tooLong, false),
	Entry(nil, "registry.example.com/"+strings.Repeat("a", 256), tooLong, false),

	// The parser's limit is 255 characters, including "library/", which it adds to the short names of Docker Hub. So the rule's
	// limit, which is the same for every registry, is 8 characters lower.
	Entry(nil, "registry.example.com/"+strings.Repeat("a", 248), tooLong, true),
	// Registries serve images by their sha256, and some also by their sha512.
	Entry(nil, "memcached@sha384:"+strings.Repeat("a1", 48), noReference, true),
	// A host in brackets is an IPv6 address, which has a colon.
	Entry(nil, "[0]:5000/memcached", noReference, true),
)

// Ends of the messages that begin with "spec.image must".
const (
	noReference = "be an image reference such as memcached:1.6.45, registry.example.com:5000/team/memcached:1.6.45 or " +
		"memcached@sha256:<64 hexadecimal digits>"
	imageID = "name a repository, such as memcached, and not the id of an image"
	tooLong = "not have a repository of more than 247 characters: use a shorter one"
)

func valid(image string) TableEntry { return Entry(nil, image, "", true) }

func unparsable(image string) TableEntry { return Entry(nil, image, noReference, false) }
