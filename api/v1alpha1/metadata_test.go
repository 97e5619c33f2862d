// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	labelValueRule = "the value of a label must be at most 63 letters, digits, '-', '_' and '.', starting and ending with a " +
		"letter or a digit, or empty"
	keyRule = "must have keys such as team or example.com/team: an optional DNS prefix and '/', then at most 63 letters, " +
		"digits, '-', '_' and '.'"
	reservedLabels = "labels must not hold app.kubernetes.io/name, app.kubernetes.io/instance, app.kubernetes.io/managed-by, " +
		"pod-template-hash or a key that starts with cache.example.com/: they belong to the operator, remove them"
	clusterLabels = "labels must not hold k8s-app or a key under kubernetes.io or k8s.io, except app.kubernetes.io: they have a " +
		"meaning to the cluster, remove them"
	reservedAnnotations = "annotations must not hold a key that starts with cache.example.com/: they belong to the operator, " +
		"remove them"
)

var _ = DescribeTable("Labels and annotations that cannot be set are refused with the field and the fix",
	func(ctx SpecContext, metadata string, cause ...string) {
		for _, parent := range []string{"podMetadata", "service"} {
			_, err := dryRunSpec(ctx, fmt.Sprintf(`{size: 1, %s: {%s}}`, parent, metadata))
			expectRefusal(err, "spec."+parent+"."+strings.Join(cause, ""))
		}
	},
	entryOf,
	Entry(nil, `labels: {app.kubernetes.io/name: a}`, `labels: Invalid value: `, reservedLabels),
	Entry(nil, `labels: {app.kubernetes.io/instance: a}`, `labels: Invalid value: `, reservedLabels),
	Entry(nil, `labels: {app.kubernetes.io/managed-by: a}`, `labels: Invalid value: `, reservedLabels),
	Entry(nil, `labels: {pod-template-hash: a}`, `labels: Invalid value: `, reservedLabels),
	Entry(nil, `labels: {cache.example.com/a: a}`, `labels: Invalid value: `, reservedLabels),
	Entry(nil, `labels: {k8s-app: a}`, `labels: Invalid value: `, clusterLabels),
	Entry(nil, `labels: {kubernetes.io/cluster-service: a}`, `labels: Invalid value: `, clusterLabels),
	Entry(nil, `labels: {node-role.kubernetes.io/a: a}`, `labels: Invalid value: `, clusterLabels),
	Entry(nil, `labels: {a.k8s.io/a: a}`, `labels: Invalid value: `, clusterLabels),
	Entry(nil, `annotations: {cache.example.com/a: a}`, `annotations: Invalid value: `, reservedAnnotations),
	Entry(nil, `labels: {team: -a}`, `labels[team]: Invalid value: "-a": `, labelValueRule),
	Entry(nil, `labels: {team: a b}`, `labels[team]: Invalid value: "a b": `, labelValueRule),
	Entry(nil, `labels: {team: "فريق"}`, `labels[team]: Invalid value: "فريق": `, labelValueRule),
	Entry(nil, `labels: {team: `+strings.Repeat("a", 64)+`}`, `labels.team: Too long: may not be more than 63 bytes`),
	Entry(nil, `annotations: {note: `+strings.Repeat("a", 8193)+`}`, `annotations.note: Too long: may not be more than 8192 bytes`),
	Entry(nil, `labels: {team: 1}`, `labels.team in body must be of type string: "integer"`),
)

var _ = Describe("Labels and annotations", func() {
	// The keys a, b and c and the value of a have 8195 bytes, and 8189 more are allowed.
	DescribeTable("have at most 16384 bytes", func(ctx SpecContext, value string, accepted bool) {
		for _, parent := range []string{"podMetadata", "service"} {
			_, err := dryRunSpec(ctx, fmt.Sprintf(`{size: 1, %s: {labels: {c: ""}, annotations: {a: %s, b: %s}}}`,
				parent, strings.Repeat("a", 8192), value))
			if accepted {
				Expect(err).NotTo(HaveOccurred())
			} else {
				expectRefusal(err, "spec."+parent+": Invalid value: ",
					"labels and annotations must have at most 16384 bytes together, their keys included: remove or shorten some")
			}
		}
	},
		EntryDescription("%.3s: %t"),
		Entry(nil, strings.Repeat("a", 8189), true),
		Entry(nil, strings.Repeat("a", 8190), false),
		Entry(nil, "é"+strings.Repeat("a", 8188), false), // é has two bytes
	)
})

// Kubernetes checks keys with IsQualifiedName. It converts keys of annotations to lower case first.
var _ = DescribeTable("A key of labels or annotations is refused if and only if Kubernetes refuses it",
	func(ctx SpecContext, key string) {
		for _, field := range []string{"podMetadata.labels", "podMetadata.annotations", "service.labels", "service.annotations"} {
			parent, child, _ := strings.Cut(field, ".")
			qualified := key
			if child == "annotations" {
				qualified = strings.ToLower(key)
			}
			_, err := dryRunSpec(ctx, fmt.Sprintf(`{size: 1, %s: {%s: {%q: a}}}`, parent, child, key))
			if len(validation.IsQualifiedName(qualified)) > 0 {
				expectRefusal(err, "spec."+field+": Invalid value: "+child+" "+keyRule)
			} else {
				Expect(err).NotTo(HaveOccurred())
			}
		}
	},
	EntryDescription("%.80q"),
	Entry(nil, "a"), Entry(nil, "A-b_c.1"), Entry(nil, strings.Repeat("a", 63)), Entry(nil, strings.Repeat("a", 64)),
	Entry(nil, "app.kubernetes.io/version"), Entry(nil, "mykubernetes.io/a"), Entry(nil, "k8s-apps"), Entry(nil, "example.com/team"), Entry(nil, "Example.com/team"), Entry(nil, "1a-b.c/"+strings.Repeat("a", 63)),
	Entry(nil, strings.Repeat("a", 253)+"/a"), Entry(nil, strings.Repeat("a", 254)+"/a"),
	Entry(nil, ""), Entry(nil, "/"), Entry(nil, "a/"), Entry(nil, "/a"), Entry(nil, "a/b/c"),
	Entry(nil, "-a"), Entry(nil, "a-"), Entry(nil, "_"), Entry(nil, "a b"), Entry(nil, "a\n"), Entry(nil, "🚀"), Entry(nil, "فريق"),
	Entry(nil, "-a/a"), Entry(nil, "a-/a"), Entry(nil, "a..b/a"), Entry(nil, "a.-b/a"), Entry(nil, ".a/a"), Entry(nil, "a_b/a"),
)

var _ = DescribeTable("An annotation of the pods that would take a security profile away is refused",
	func(ctx SpecContext, key string) {
		_, err := dryRunSpec(ctx, fmt.Sprintf(`{size: 1, podMetadata: {annotations: {%s: unconfined}}}`, key))
		expectRefusal(err, "spec.podMetadata.annotations must not hold a key of container.apparmor.security.beta.kubernetes.io or "+
			"seccomp.security.alpha.kubernetes.io, which would take a security profile away: remove it")
	},
	entryOf,
	Entry(nil, "container.apparmor.security.beta.kubernetes.io/memcached"),
	Entry(nil, "seccomp.security.alpha.kubernetes.io/pod"),
	Entry(nil, "container.seccomp.security.alpha.kubernetes.io/memcached"),
)

var _ = DescribeTable("A name that a Service cannot have is refused with the field and the fix",
	func(ctx SpecContext, name string) {
		_, err := dryRun(ctx, manifest(name, "", `{"size": 1}`))
		expectRefusal(err, "metadata: Invalid value: metadata.name must be the name of a Service: at most 63 lowercase letters, "+
			"digits and '-', starting with a letter and ending with a letter or digit")
	},
	entryOf,
	Entry(nil, strings.Repeat("a", 64)),
	Entry(nil, "1cache"),
	Entry(nil, "my.cache"),
	Entry(nil, "Cache"),
	Entry(nil, "cache-"),
	Entry(nil, "-cache"),
	Entry(nil, "my_cache"),
	Entry(nil, "缓存"),
	Entry(nil, "🚀"),
)

// The label controller-revision-hash on the pods of a StatefulSet holds the name of the StatefulSet, "-" and ten more characters.
// The value of a label has at most 63 characters.
var _ = DescribeTable("A name that is too long for the label of a StatefulSet's pods is refused",
	func(ctx SpecContext, length int, workload string, accepted bool) {
		_, err := dryRun(ctx, manifest(strings.Repeat("a", length), "", fmt.Sprintf(`{"size": 1, "workload": %q}`, workload)))
		if accepted {
			Expect(err).NotTo(HaveOccurred())
		} else {
			expectRefusal(err, "metadata: Invalid value: metadata.name must have at most 52 characters with spec.workload StatefulSet")
		}
	},
	EntryDescription("has %d characters, with a %s"),
	Entry(nil, 52, "StatefulSet", true),
	Entry(nil, 53, "StatefulSet", false),
	Entry(nil, 63, "Deployment", true),
)

var _ = Describe("A Memcached is refused", func() {
	It("without a name", func(ctx SpecContext) {
		_, err := dryRun(ctx, manifest("", "", `{"size": 1}`))
		expectRefusal(err, "metadata.name: Required value: name or generateName is required")
	})

	It("without a spec", func(ctx SpecContext) {
		_, err := dryRun(ctx, []byte(`{"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "metadata": {"name": "a"}}`))
		expectRefusal(err, "spec: Required value")
	})
})
