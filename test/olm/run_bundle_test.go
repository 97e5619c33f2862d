// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// opmImage is the image of opm that OLM and operator-sdk use by default.
const opmImage = "quay.io/operator-framework/opm:latest"

var _ = Describe("A developer tries the bundle with operator-sdk", func() {
	It("gets a cache that serves, and removes all of it again", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		// operator-sdk runs a pod that Pod Security does not admit at the level "restricted".
		namespace := k8s.NewNamespaceAt(ctx, "baseline")
		inTempDir().Run(ctx, "operator-sdk", "run", "bundle", mirrored(bundleImage), "--namespace", namespace, "--timeout", "3m",
			"--index-image", mirrored(opmImage))
		untilInstalled(ctx, namespace, version)

		By("creating the sample, when Kubernetes' garbage collector has found the new kind, for which it looks every 30 seconds")
		const sample = "config/samples/cache_v1alpha1_memcached.yaml"
		k8s.Kubectl(ctx, "apply", "--namespace", namespace, "--filename", sample)
		k8s.Kubectl(ctx, "delete", "--namespace", namespace, "--filename", sample, "--cascade=foreground", "--timeout=1m")
		k8s.Kubectl(ctx, "apply", "--namespace", namespace, "--filename", sample)
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-sample"}}
		k8s.UntilReady(ctx, mc)
		k8s.MustServe(ctx, mc, 1000)

		By("cleaning up, which deletes the definition and with it the cache")
		inTempDir().Run(ctx, "operator-sdk", "cleanup", packageName, "--namespace", namespace, "--timeout", "1m")
		Eventually(ctx, func() []string { return left(ctx, namespace) }).Should(BeEmpty(), "left in the namespace")
		removeRest(ctx)
	})
})

// inTempDir returns a Cluster that runs commands in a temporary folder, because operator-sdk leaves files in its working directory.
func inTempDir() *clustertest.Cluster { return k8s.In(GinkgoT().TempDir()) }

// mirror is the registry of the cluster, which has all images.
const mirror = "localhost:5000"

func mirrored(image string) string {
	_, path, _ := strings.Cut(image, "/")
	return mirror + "/" + path
}

// pinned returns the name of an image in the mirror, with its digest instead of its tag.
func pinned(ctx context.Context, image string) string {
	GinkgoHelper()
	name := mirrored(image)
	colon := strings.LastIndexByte(name, ':')
	path, tag := strings.TrimPrefix(name[:colon], mirror+"/"), name[colon+1:]
	request := clustertest.Must(
		http.NewRequestWithContext(ctx, http.MethodHead, "https://"+mirror+"/v2/"+path+"/manifests/"+tag, http.NoBody))
	request.Header.Add("Accept", "application/vnd.oci.image.manifest.v1+json")
	request.Header.Add("Accept", "application/vnd.docker.distribution.manifest.v2+json")
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.Body.Close()).To(Succeed())
	Expect(response.StatusCode).To(Equal(http.StatusOK), name)
	return name[:colon] + "@" + response.Header.Get("Docker-Content-Digest")
}

var relatedImage = regexp.MustCompile(`(?m)^ {2}- image: (\S+)$`)

var _ = Describe("An administrator whose cluster has no access to the internet", func() {
	It("installs a bundle that names every image by its digest in a mirror", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		namespace := k8s.NewNamespaceAt(ctx, "baseline")
		csv := "bundle/manifests/memcached-operator.clusterserviceversion.yaml"
		related := relatedImage.FindAllStringSubmatch(clustertest.Read(csv), -1)
		Expect(related).To(HaveLen(3), "memcached, the operator and its agent")
		images := map[string]string{}
		for _, image := range related {
			name, _, _ := strings.Cut(path.Base(image[1]), ":")
			images[name] = pinned(ctx, image[1])
		}
		memcached, operator, agent := images["memcached"], images["memcached-operator"], images["memcached-operator-agent"]

		By("making the bundle")
		folder := filepath.Join(GinkgoT().TempDir(), "bundle")
		k8s.Make(ctx, "bundle", "bundle-build", "bundle-push", "USE_IMAGE_DIGESTS=true",
			"IMG="+operator, "AGENT_IMG="+agent, "MEMCACHED_IMAGE="+memcached, "BUNDLE_DIR="+folder,
			"BUNDLE_IMG="+mirror+"/mirror/memcached-operator-bundle:v"+version,
			"CONTAINER_TOOL=hack/cluster/container.sh")

		By("running it")
		inTempDir().Run(ctx, "operator-sdk", "run", "bundle", mirror+"/mirror/memcached-operator-bundle:v"+version,
			"--namespace", namespace, "--timeout", "3m", "--index-image", mirrored(opmImage),
			"--decompression-image", mirrored("registry.access.redhat.com/ubi9/ubi:9.8"))
		untilInstalled(ctx, namespace, version)
		mc := k8s.NewMemcached(ctx, namespace, 1)
		k8s.MustServe(ctx, mc, 100)
		Expect(runningImage(ctx, namespace)).To(Equal(operator))
		Expect(k8s.Pods(ctx, mc)[0].Spec.Containers[0].Image).To(Equal(memcached))
		inTempDir().Run(ctx, "operator-sdk", "cleanup", packageName, "--namespace", namespace, "--timeout", "1m")
	})
})

var _ = Describe("The bundle", func() {
	It("passes every test of the scorecard, which suggests nothing but a status in the examples", clustertest.Core, SpecTimeout(6*time.Minute), func(ctx SpecContext) {
		namespace := k8s.NewNamespace(ctx)
		output, failure := k8s.Try(ctx, "operator-sdk", "scorecard", "bundle", "--namespace", namespace, "--wait-time", "5m",
			"--pod-security", "restricted", "--output", "json", "--untar-image", "quay.io/operator-framework/scorecard-untar:local")
		var tests v1alpha3.TestList
		Expect(json.Unmarshal([]byte(output), &tests)).To(Succeed(), "%v", failure)
		Expect(tests.Items).To(HaveLen(strings.Count(clustertest.Read("bundle/tests/scorecard/config.yaml"), "entrypoint:")))
		for _, test := range tests.Items {
			for _, result := range test.Status.Results {
				Expect(result.State).To(Equal(v1alpha3.PassState), "%s: %v", result.Name, result.Errors)
				for _, suggestion := range result.Suggestions {
					Expect(suggestion).To(ContainSubstring("does not have status spec"), result.Name) // the examples have no status: users create them
				}
			}
		}
		Expect(failure).NotTo(HaveOccurred())
	})
})
