// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olmv1

package olmv1

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/docs"
)

const (
	// packageName is the name of the package, and of the ClusterCatalog and the ClusterExtension in the documentation.
	packageName = "memcached-operator"
	// catalog and extension are the ClusterCatalog and the ClusterExtension as kubectl names them.
	catalog   = "clustercatalog/" + packageName
	extension = "clusterextension/" + packageName
	// operatorNamespace is the namespace of the operator in the documentation.
	operatorNamespace = "memcached-operator-system"
	// operatorDeployment is the Deployment in the bundle, as kubectl names it.
	operatorDeployment = "deployment/memcached-operator-controller-manager"
	// definition is the CustomResourceDefinition of Memcached, as kubectl names it.
	definition = "customresourcedefinition/memcacheds.cache.example.com"
)

var definitions = []string{definition, "customresourcedefinition/memcachedproxies.cache.example.com"}

// documented returns the object of this kind in the section of install.md about OLM v1.
func documented(kind string) *unstructured.Unstructured {
	GinkgoHelper()
	page := docs.Parse("install.md", []byte(clustertest.Read("docs/operations/install.md")))
	for _, block := range page.Blocks {
		if block.Section != "olm-v1" || block.Language != "yaml" {
			continue
		}
		for document := range strings.SplitSeq(block.Text, "\n---\n") {
			object := &unstructured.Unstructured{}
			Expect(yaml.UnmarshalStrict([]byte(document), &object.Object)).To(Succeed())
			if object.GetKind() == kind {
				return object
			}
		}
	}
	Fail("install.md has no " + kind + " for OLM v1")
	return nil
}

// candidate returns the documented ClusterExtension with the channel candidate-v1, which has every version.
func candidate() *unstructured.Unstructured {
	GinkgoHelper()
	object := documented("ClusterExtension")
	Expect(unstructured.SetNestedStringSlice(object.Object, []string{"candidate-v1"}, "spec", "source", "catalog", "channels")).To(Succeed())
	return object
}

// pinned returns the same ClusterExtension as the function candidate, but pinned to one version.
func pinned(version string) *unstructured.Unstructured {
	GinkgoHelper()
	object := candidate()
	Expect(unstructured.SetNestedField(object.Object, version, "spec", "source", "catalog", "version")).To(Succeed())
	return object
}

func apply(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "manifest.yaml")
	Expect(os.WriteFile(file, clustertest.Must(yaml.Marshal(object)), 0o600)).To(Succeed())
	k8s.Kubectl(ctx, "apply", "--filename", file)
}

// untilInstalled waits until OLM reports that a version is installed, and until the operator runs.
func untilInstalled(ctx context.Context, version string) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "wait", extension, "--for=jsonpath={.status.install.bundle.version}="+version, "--timeout=2m")
	k8s.Kubectl(ctx, "rollout", "status", operatorDeployment, "--namespace", operatorNamespace, "--timeout=1m")
	Expect(k8s.Kubectl(ctx, "get", operatorDeployment, "--namespace", operatorNamespace,
		"--output=jsonpath={.spec.template.spec.containers[0].image}")).To(HaveSuffix(":v" + version))
}

func progress(ctx context.Context, name string) string {
	GinkgoHelper()
	return k8s.Kubectl(ctx, "get", name, `--output=jsonpath={.status.conditions[?(@.type=="Progressing")].message}`)
}

// deleteExtension deletes the ClusterExtension, and waits until only the CustomResourceDefinitions of the operator remain.
func deleteExtension(ctx context.Context) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "delete", extension, "--timeout=1m")
	Eventually(ctx, k8s.Remains).Should(And(HaveLen(len(definitions)), HaveEach(HavePrefix("CustomResourceDefinition "))))
	Eventually(ctx, k8s.OperatorPods).WithArguments(operatorNamespace).Should(BeEmpty(), "pods of the operator")
}

// beginStory creates the catalog. It fails if cluster-scoped objects of the operator already exist. After the story, it deletes the
// extensions, the catalogs and the CustomResourceDefinitions, and with these every cache.
func beginStory(ctx context.Context) {
	GinkgoHelper()
	Expect(k8s.Remains(ctx)).To(BeEmpty())
	DeferCleanup(func(ctx SpecContext) {
		k8s.Report(ctx, operatorNamespace)
		k8s.Kubectl(ctx, "delete", "clusterextensions,clustercatalogs", "--all", "--timeout=1m")
		k8s.Kubectl(ctx, append([]string{"delete", "--ignore-not-found", "--timeout=1m"}, definitions...)...)
		Eventually(ctx, k8s.Remains).Should(BeEmpty())
	})
	apply(ctx, documented("ClusterCatalog"))
	k8s.Kubectl(ctx, "wait", catalog, "--for=condition=Serving", "--timeout=1m")
}
