// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olmv1

package olmv1

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// packageName names the package, and in the documentation all that is made for it.
	packageName = "memcached-operator"
	// catalog and extension are the ClusterCatalog and the ClusterExtension as kubectl names them.
	catalog   = "clustercatalog/" + packageName
	extension = "clusterextension/" + packageName
	// operatorNamespace is the namespace of the operator in the documentation.
	operatorNamespace = "memcached-operator-system"
	// operatorDeployment is what the bundle deploys.
	operatorDeployment = "deployment/memcached-operator-controller-manager"
	// definition is the CustomResourceDefinition as kubectl names it.
	definition = "customresourcedefinition/memcacheds.cache.example.com"
	// repository is the root of the repository: tests run in the folder of their package.
	repository = "../.."
)

// yamlBlock matches a block of YAML in Markdown.
var yamlBlock = regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```\n")

// documented returns the manifest of a kind that install.md gives for OLM v1.
func documented(kind string) *unstructured.Unstructured {
	GinkgoHelper()
	_, section, found := strings.Cut(read("docs/operations/install.md"), "\n## OLM v1\n")
	Expect(found).To(BeTrue(), "install.md has a section about OLM v1")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range yamlBlock.FindAllStringSubmatch(section, -1) {
		for document := range strings.SplitSeq(block[1], "\n---\n") {
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

// candidate is the documented ClusterExtension with the channel that has every version.
func candidate() *unstructured.Unstructured {
	GinkgoHelper()
	object := documented("ClusterExtension")
	Expect(unstructured.SetNestedStringSlice(object.Object, []string{"candidate-v1"}, "spec", "source", "catalog", "channels")).To(Succeed())
	return object
}

// pinned is the same with the one version that it is to have.
func pinned(version string) *unstructured.Unstructured {
	GinkgoHelper()
	object := candidate()
	Expect(unstructured.SetNestedField(object.Object, version, "spec", "source", "catalog", "version")).To(Succeed())
	return object
}

// apply applies an object as kubectl apply does with its manifest.
func apply(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	manifest, err := yaml.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "manifest.yaml")
	Expect(os.WriteFile(file, manifest, 0o600)).To(Succeed())
	kubectl(ctx, "apply", "--filename", file)
}

// untilInstalled waits until OLM says that a version is installed, and until the operator runs.
func untilInstalled(ctx context.Context, version string) {
	GinkgoHelper()
	kubectl(ctx, "wait", extension, "--for=jsonpath={.status.install.bundle.version}="+version, "--timeout=2m")
	kubectl(ctx, "rollout", "status", operatorDeployment, "--namespace", operatorNamespace, "--timeout=1m")
	Expect(kubectl(ctx, "get", operatorDeployment, "--namespace", operatorNamespace,
		"--output=jsonpath={.spec.template.spec.containers[0].image}")).To(HaveSuffix(":v" + version))
}

// progress returns what OLM says of its way to what a ClusterExtension wants.
func progress(ctx context.Context, name string) string {
	GinkgoHelper()
	return kubectl(ctx, "get", name, `--output=jsonpath={.status.conditions[?(@.type=="Progressing")].message}`)
}

// deleteExtension deletes the ClusterExtension, and waits until all that belongs to it is gone: all but the definition.
func deleteExtension(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "delete", extension, "--timeout=1m")
	Eventually(ctx, remains).Should(ConsistOf(HavePrefix("CustomResourceDefinition ")))
	Eventually(ctx, func() ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := k8s.List(ctx, &pods, client.InNamespace(operatorNamespace))
		return pods.Items, err
	}).Should(BeEmpty(), "pods of the operator")
}

// remains returns what the cluster has of the operator outside of namespaces.
func remains(ctx context.Context) []string {
	GinkgoHelper()
	var found []string
	for _, kind := range []schema.GroupVersionKind{
		apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
		rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
		rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	} {
		var all metav1.PartialObjectMetadataList
		all.SetGroupVersionKind(kind)
		Expect(k8s.List(ctx, &all)).To(Succeed())
		for i := range all.Items {
			if name := all.Items[i].Name; strings.Contains(name, "memcached") {
				found = append(found, kind.Kind+" "+name)
			}
		}
	}
	return found
}

// beginStory comes first in every story: it begins on a cluster that has the catalog and nothing of the operator, and leaves
// nothing.
func beginStory(ctx context.Context) {
	GinkgoHelper()
	Expect(remains(ctx)).To(BeEmpty())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			explain(ctx)
		}
		kubectl(ctx, "delete", "clusterextensions,clustercatalogs", "--all", "--timeout=1m")
		kubectl(ctx, "delete", definition, "--ignore-not-found", "--timeout=1m")
		Eventually(ctx, remains).Should(BeEmpty())
	})
	apply(ctx, documented("ClusterCatalog"))
	kubectl(ctx, "wait", catalog, "--for=condition=Serving", "--timeout=1m")
}

// explain prints what a person would look at after a failure.
func explain(ctx context.Context) {
	for _, command := range []string{
		"describe clustercatalogs,clusterextensions",
		"get all,memcacheds --all-namespaces --output=wide",
		"events --all-namespaces",
		"logs --namespace=" + operatorNamespace + " " + operatorDeployment + " --tail=100",
		"logs --namespace=olmv1-system deployment/catalogd-controller-manager --tail=50",
		"logs --namespace=olmv1-system deployment/operator-controller-controller-manager --tail=50",
	} {
		// What fails has printed why.
		_, _ = tryKubectl(ctx, strings.Fields(command)...)
	}
}
