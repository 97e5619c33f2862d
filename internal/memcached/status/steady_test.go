// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// steadyRows have no change under way.
// newerDefaults is the rest of what NewerDefaultsAvailable says.
const newerDefaults = "; the next rollout adopts them. To roll out now: kubectl patch memcached cache -n shop --type=merge " +
	`-p '{"spec":{"restartedAt":"'$(date -u +%FT%TZ)'"}}'`

func steadyRows(t *testing.T) []statusCase {
	const podDefaults = "cache.example.com/pod-defaults"
	mc := memcachedtest.Cache(3)
	newer := makeDeployment(t, mc, settled)
	newer.Annotations[podDefaults] = `{"images":{"memcached":"docker.io/library/memcached:1.6.40"},"memoryLimit":"198Mi"}`
	small := makeDeployment(t, mc, settled)
	small.Annotations[podDefaults] = `{"images":{"memcached":"` + memcachedtest.DefaultImage + `"},"memoryLimit":"100Mi"}`
	own := memcachedtest.Cache(3, memcachedtest.Image("memcached:1.6.40"))
	injected := makeDeployment(t, mc, settled)
	injected.Spec.Template.Spec.Containers = slices.Insert(injected.Spec.Template.Spec.Containers, 0,
		corev1.Container{Name: "injected", Image: "proxy"})
	return []statusCase{{
		name:        "a node is not ready",
		mc:          mc,
		deployment:  makeDeployment(t, mc, settled),
		pods:        append(makePods(2), makePod("cache-5d4f-02", notReady)),
		ready:       "False NodesUnavailable: 2 of 3 nodes are ready",
		available:   available2,
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "it is not known whether a node is ready: its kubelet is away",
		mc:          mc,
		deployment:  makeDeployment(t, mc, settled),
		pods:        append(makePods(2), makePod("cache-5d4f-02", readiness(corev1.ConditionUnknown))),
		ready:       "False NodesUnavailable: 2 of 3 nodes are ready",
		available:   available2,
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "a node too many, which is not ready",
		mc:          mc,
		deployment:  makeDeployment(t, mc, settled),
		pods:        append(makePods(3), makePod("cache-5d4f-03", notReady)),
		ready:       "False Scaling: 4 nodes exist, 3 are wanted",
		available:   available3,
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "two nodes are gone",
		mc:          mc,
		deployment:  makeDeployment(t, mc, settled),
		pods:        makePods(1),
		ready:       "False NodesUnavailable: 1 of 3 nodes are ready",
		available:   unavailable1,
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "the operator has a newer default image",
		mc:          mc,
		deployment:  newer,
		pods:        makePods(3),
		ready:       allThreeReady,
		available:   available3,
		progressing: "False NewerDefaultsAvailable: The operator's defaults are now the image " + memcachedtest.DefaultImage + newerDefaults,
		degraded:    asExpected,
	}, {
		name:        "the model of the operator has become stricter",
		mc:          mc,
		deployment:  small,
		pods:        makePods(3),
		ready:       allThreeReady,
		available:   available3,
		progressing: "False NewerDefaultsAvailable: The operator's defaults are now a memory limit of 198Mi" + newerDefaults,
		degraded:    asExpected,
	}, {
		name:        "the image of an injected container is nobody's business",
		mc:          mc,
		deployment:  injected,
		pods:        makePods(3),
		ready:       allThreeReady,
		available:   available3,
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "the user's own image is nobody's business",
		mc:          own,
		deployment:  makeDeployment(t, own, settled),
		pods:        makePods(3),
		ready:       allThreeReady,
		available:   available3,
		progressing: complete,
		degraded:    asExpected,
	}}
}
