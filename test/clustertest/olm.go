// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PreviousVersion returns the version in hack/olm/previous, from which the stories upgrade.
func PreviousVersion() string {
	GinkgoHelper()
	for line := range strings.Lines(Read("hack/olm/previous")) {
		if version, _, ok := strings.Cut(line, " "); ok && version != "#" {
			return version
		}
	}
	Fail("hack/olm/previous has no line with a version and a commit")
	return ""
}

// Remains returns the objects of the operator that are in no namespace, by kind and name. More kinds may be given.
func (c *Cluster) Remains(ctx context.Context, more ...schema.GroupVersionKind) []string {
	GinkgoHelper()
	var found []string
	for _, kind := range slices.Concat([]schema.GroupVersionKind{
		apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
		rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
		rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	}, more) {
		var all metav1.PartialObjectMetadataList
		all.SetGroupVersionKind(kind)
		Expect(c.List(ctx, &all)).To(Succeed())
		for i := range all.Items {
			if name := all.Items[i].Name; strings.Contains(name, "memcached") {
				found = append(found, kind.Kind+" "+name)
			}
		}
	}
	return found
}
