// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"context"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/clustertest"
)

// repositoryOf removes the registry, the path prefix "mirror/", the tag and the digest from the name of an image. The suite replaces
// published images with others, which have the same repository but other tags and digests.
func repositoryOf(image string) string {
	path := strings.TrimPrefix(mirrored(image), mirror+"/")
	path, _, _ = strings.Cut(path, "@")
	path, _, _ = strings.Cut(path, ":")
	return strings.TrimPrefix(path, "mirror/")
}

// recordImages records the images of all pods outside kube-system. At the end of the suite, it fails if imageList lacks the
// repository of a recorded image.
func recordImages(ctx context.Context) {
	GinkgoHelper()
	var known []string
	for _, image := range listed(clustertest.Read(imageList)) {
		known = append(known, repositoryOf(image))
	}
	watcher := clustertest.Must(k8s.Watch(context.WithoutCancel(ctx), &corev1.PodList{}))
	seen := map[string]bool{}
	var watching sync.WaitGroup
	watching.Go(func() {
		for event := range watcher.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && pod.Namespace != "kube-system" {
				for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
					seen[container.Image] = true
				}
			}
		}
	})
	DeferCleanup(func() {
		watcher.Stop()
		watching.Wait()
		Expect(seen).NotTo(BeEmpty())
		for image := range seen {
			Expect(known).To(ContainElement(repositoryOf(image)), "%s is not in %s", image, imageList)
		}
	})
}
