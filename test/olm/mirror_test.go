// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"context"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
)

// mirror is the registry of the cluster, which has all images.
const mirror = "localhost:5000"

// mirrored is the name of an image in the mirror.
func mirrored(image string) string {
	_, path, _ := strings.Cut(image, "/")
	return mirror + "/" + path
}

// pinned is the name of an image in the mirror with its digest, as skopeo inspect or crane digest print it.
func pinned(ctx context.Context, image string) string {
	GinkgoHelper()
	name := mirrored(image)
	colon := strings.LastIndexByte(name, ':')
	path, tag := strings.TrimPrefix(name[:colon], mirror+"/"), name[colon+1:]
	request := clustertest.Must(
		http.NewRequestWithContext(ctx, http.MethodHead, "https://"+mirror+"/v2/"+path+"/manifests/"+tag, http.NoBody))
	request.Header.Add("Accept", "application/vnd.oci.image.manifest.v1+json")
	request.Header.Add("Accept", "application/vnd.docker.distribution.manifest.v2+json")
	response := clustertest.Must(http.DefaultClient.Do(request))
	Expect(response.Body.Close()).To(Succeed())
	Expect(response.StatusCode).To(Equal(http.StatusOK), name)
	return name[:colon] + "@" + response.Header.Get("Docker-Content-Digest")
}

// relatedImage matches an image in the related images of a ClusterServiceVersion.
var relatedImage = regexp.MustCompile(`(?m)^ {2}- image: (\S+)$`)

var _ = Describe("An administrator whose cluster has no access to the internet", func() {
	It("installs a bundle that names every image by its digest in a mirror", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		beginStory(ctx)
		namespace := k8s.NewNamespaceAt(ctx, "baseline")
		csv := "bundle/manifests/memcached-operator.clusterserviceversion.yaml"
		related := relatedImage.FindAllStringSubmatch(clustertest.Read(csv), -1)
		Expect(related).To(HaveLen(2), "the operator and memcached")
		operator, memcached := pinned(ctx, related[0][1]), pinned(ctx, related[1][1])

		By("making the bundle")
		folder := filepath.Join(GinkgoT().TempDir(), "bundle")
		k8s.Make(ctx, "bundle", "bundle-build", "bundle-push", "USE_IMAGE_DIGESTS=true",
			"IMG="+operator, "MEMCACHED_IMAGE="+memcached, "BUNDLE_DIR="+folder, "BUNDLE_IMG="+mirror+"/mirror/memcached-operator-bundle:v"+version,
			"CONTAINER_TOOL=hack/cluster/container.sh")

		By("running it")
		inTempDir().Run(ctx, "operator-sdk", "run", "bundle", mirror+"/mirror/memcached-operator-bundle:v"+version,
			"--namespace", namespace, "--timeout", "3m", "--index-image", mirrored(opmImage),
			"--decompression-image", mirrored("registry.access.redhat.com/ubi9/ubi:9.7"))
		untilInstalled(ctx, namespace, version)
		mc := k8s.NewMemcached(ctx, namespace, 1)
		k8s.MustServe(ctx, mc, 100)
		Expect(runningImage(ctx, namespace)).To(Equal(operator))
		Expect(imageOf(ctx, mc)).To(Equal(memcached))
		inTempDir().Run(ctx, "operator-sdk", "cleanup", packageName, "--namespace", namespace, "--timeout", "1m")
	})
})

// imageOf returns the image of the first node of a Memcached.
func imageOf(ctx context.Context, mc *cachev1alpha1.Memcached) (string, error) {
	var pod corev1.Pod
	err := k8s.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: mc.Status.Nodes[0]}, &pod)
	return pod.Spec.Containers[0].Image, err
}
