// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

const (
	restart = "kubectl patch memcached cache -n shop --type=merge " + `-p '{"spec":{"restartedAt":"'$(date -u +%FT%TZ)'"}}'`
	// newerDefaults is the end of the message for Outdated. tooOld is the beginning of the condition for
	// Outdated.
	newerDefaults = "; the next rollout adopts them. To roll out now: " + restart
	tooOld        = "False Outdated: memcached 1.6.40 is older than 1.6.45, the oldest supported version: "
)

// steadyRows have no change under way.
func steadyRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	recorded := func(mc *cachev1alpha1.Memcached, image, limit string) *appsv1.Deployment {
		deployment := makeDeployment(t, mc, settled)
		record := memcached.RecordOf(deployment)
		record.Images, record.MemoryLimit = map[string]string{memcached.ContainerName: image}, limit
		maps.Copy(deployment.Annotations, record.Annotations())
		return deployment
	}
	newer, small := recorded(mc, "docker.io/library/memcached:1.6.40", "198Mi"), recorded(mc, memcachedtest.DefaultImage, "100Mi")
	own := memcachedtest.Cache(3, memcachedtest.Image("memcached:1.6.46"))
	old := memcachedtest.Cache(3, memcachedtest.Image("memcached:1.6.40"))
	started := recorded(old, "memcached:1.6.40", "198Mi")
	injected := makeDeployment(t, mc, settled)
	injected.Spec.Template.Spec.Containers = slices.Insert(injected.Spec.Template.Spec.Containers, 0,
		corev1.Container{Name: "injected", Image: "proxy"})
	return []statusCase{{
		name: "a node is not ready", pods: append(makePods(2), makePod("cache-5d4f-02", notReady)),
		ready: "False NotReady: 2 of 3 nodes are ready", available: available2,
	}, {
		name:  "it is not known whether a node is ready: its kubelet is away",
		pods:  append(makePods(2), makePod("cache-5d4f-02", readiness(corev1.ConditionUnknown))),
		ready: "False NotReady: 2 of 3 nodes are ready", available: available2,
	}, {
		name: "a node too many, which is not ready", pods: append(makePods(3), makePod("cache-5d4f-03", notReady)),
		ready: "False Scaling: 4 nodes exist, 3 are wanted",
	}, {
		name: "two nodes are gone", pods: makePods(1), ready: "False NotReady: 1 of 3 nodes are ready", available: unavailable1,
	}, {
		name: "the operator has a newer default image", deployment: newer, pods: makePods(3),
		progressing: "False Outdated: The operator's defaults are now the image " + memcachedtest.DefaultImage + newerDefaults,
	}, {
		name: "the model of the operator has become stricter", deployment: small, pods: makePods(3),
		progressing: "False Outdated: The operator's defaults are now a memory limit of 198Mi" + newerDefaults,
	}, {
		name: "the image of an injected container is nobody's business", deployment: injected, pods: makePods(3),
	}, {
		name: "the user's own image has an old memcached", mc: old, pods: makePods(3),
		progressing: tooOld + "set spec.image to a newer one, or remove it",
	}, {
		name: "an earlier operator started an old memcached", deployment: started, pods: makePods(3),
		progressing: tooOld + "adopt the operator's default image: " + restart,
	}, {
		name: "the user's own image is nobody's business", mc: own, pods: makePods(3),
	}}
}
