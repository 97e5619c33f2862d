// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func creationRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	return []statusCase{{
		name: "creating: the Deployment is not in the cache", changing: "Creating: Starting 3 nodes", available: unavailable0,
	}, {
		name: "creating: the Deployment controller has not seen the Deployment", deployment: makeDeployment(t, mc),
		changing: "Creating: Starting 3 nodes", available: noReport,
	}, {
		name: "creating: pods before the count", deployment: makeDeployment(t, mc, revision(1), progress("NewReplicaSetCreated")),
		pods: makePods(3, notReady), changing: "Creating: Starting 3 nodes", available: unavailable0,
	}, {
		name:       "creating: one node is ready",
		deployment: makeDeployment(t, mc, revision(1), counts(1, 3, 3, 1), progress("ReplicaSetUpdated")),
		pods:       append(makePods(1), makePod("cache-5d4f-08", notReady), makePod("cache-5d4f-09", notReady)),
		changing:   "Creating: 1 of 3 nodes are started", available: unavailable1,
	}, {
		name:       "creating: all nodes are ready, the Deployment does not say so yet",
		deployment: makeDeployment(t, mc, revision(1), counts(1, 3, 3, 2), progress("ReplicaSetUpdated")), pods: makePods(3),
		changing: "Creating: 2 of 3 nodes are started",
	}, {
		name: "created", pods: makePods(3),
	}, {
		name: "created with size 0", mc: memcachedtest.Cache(0), deployment: makeDeployment(t, memcachedtest.Cache(0), settled),
		ready: "True AllNodesReady: 0 of 0 nodes are ready", available: "True AsExpected: 0 of 0 nodes are ready",
	}}
}

func rolloutRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	old, updated := ofReplicaSet("cache", "0000"), ofReplicaSet("cache", "5d4f")
	restarted := makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated"))
	restarted.Spec.Template.Annotations = map[string]string{memcached.KubectlRestartedAt: "2026-11-20T13:00:00+01:00"}
	return []statusCase{{
		name: "rolling out: somebody restarts the Deployment", deployment: restarted, pods: makePods(3, created(-9)),
		changing: "RollingOut: Replacing nodes, without their items, as kubectl rollout restart asks: 1 of 3 nodes are updated",
	}, {
		name: "rolling out: all nodes are younger", deployment: restarted, pods: makePods(3, created(9)), changing: replacing + "1 of 3 nodes are updated",
	}, {
		name: "rolling out: the Deployment controller has not seen the change", deployment: makeDeployment(t, mc, settled, specGeneration(2)),
		pods: makePods(3, old), changing: replacing + "0 of 3 nodes are updated",
	}, {
		name:       "rolling out: the first node is being replaced",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2), progress("ReplicaSetUpdated")),
		pods:       append(makePods(2, old), makePod("cache-5d4f-02", updated, notReady)), changing: replacing + "1 of 3 nodes are updated",
		available: available2,
	}, {
		name:       "rolling out with a surge",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 4, 1, 3), progress("ReplicaSetUpdated")),
		pods:       append(makePods(3, old), makePod("cache-5d4f-03", notReady)), changing: replacing + "1 of 3 nodes are updated",
	}, {
		// When the Deployment controller goes back to a ReplicaSet that exists, it keeps the condition of the last rollout.
		name:       "rolling back, no node replaced",
		deployment: makeDeployment(t, mc, specGeneration(3), revision(3), counts(3, 3, 0, 3), progress(rolloutComplete)),
		pods:       makePods(3, old), changing: replacing + "0 of 3 nodes are updated",
	}, {
		name:       "rolling back with a surge is no scaling",
		deployment: makeDeployment(t, mc, specGeneration(3), revision(3), counts(3, 4, 1, 3), progress(rolloutComplete)),
		pods:       append(makePods(3, old), makePod("cache-5d4f-03", notReady)), changing: replacing + "1 of 3 nodes are updated",
	}, {
		name: "rolled out", deployment: makeDeployment(t, mc, specGeneration(2), settled, revision(2)), pods: makePods(3),
	}}
}

func scalingRows(t *testing.T) []statusCase {
	mc, two := memcachedtest.Cache(3), memcachedtest.Cache(2)
	return []statusCase{{
		name:       "scaling: the Deployment controller has not seen the change",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(1), counts(1, 1, 1, 1), progress(rolloutComplete)), pods: makePods(1),
		changing: "Scaling: Scaling from 1 to 3 nodes", available: unavailable1,
	}, {
		// The new pod exists, so the Deployment looks the same as after the loss of a pod. The status cannot tell that this is scaling.
		name:       "scaled up: a new node is not ready",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 3, 3, 2), progress(rolloutComplete)),
		pods:       append(makePods(2), makePod("cache-5d4f-02", notReady)), ready: "False NotReady: 2 of 3 nodes are ready", available: available2,
	}, {
		name: "scaling down", mc: two,
		deployment: makeDeployment(t, two, specGeneration(2), revision(1), counts(2, 3, 3, 3), progress(rolloutComplete)), pods: makePods(3),
		changing: "Scaling: Scaling from 3 to 2 nodes", available: "True AsExpected: 3 of 2 nodes are ready",
	}, {
		name: "scaled down: the pod that leaves is still there", mc: two,
		deployment: makeDeployment(t, two, specGeneration(2), revision(1), counts(2, 2, 2, 2), progress(rolloutComplete)),
		pods:       append(makePods(2), makePod("cache-5d4f-02", terminating)), ready: "True AllNodesReady: 2 of 2 nodes are ready",
		available: "True AsExpected: 2 of 2 nodes are ready",
	}, {
		name: "scaled down: the cache of pods lags behind", mc: two,
		deployment: makeDeployment(t, two, specGeneration(2), revision(1), counts(2, 2, 2, 2), progress(rolloutComplete)), pods: makePods(3),
		ready: "False Scaling: 3 nodes exist, 2 are wanted", available: "True AsExpected: 3 of 2 nodes are ready",
	}, {
		name:       "scaling in a rollout: the Deployment controller has not seen the change",
		deployment: makeDeployment(t, mc, specGeneration(3), revision(2), counts(2, 5, 1, 3), progress("ReplicaSetUpdated")),
		pods:       makePods(3), changing: "Scaling: Scaling from 5 to 3 nodes",
	}, {
		name:       "scaling and rolling out at once: the ReplicaSet of the new template does not exist",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 1, 0, 1), progress(rolloutComplete)), pods: makePods(1),
		changing: replacing + "0 of 3 nodes are updated", available: unavailable1,
	}}
}

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
		name: "somebody has lowered a limit", pods: append(makePods(2, limitedPod("198Mi")), makePod("cache-5d4f-02", limitedPod("160Mi"))),
		trouble: strings.Replace(lessMemory(2, 160, 198), "cache-2", "cache-5d4f-02", 1),
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

// runs changes the image in the pod template, as another writer may do.
func runs(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
}

// next makes one generation that the Deployment controller has not seen.
func next(d *appsv1.Deployment) { d.Generation++ }

// templateRows have a generation of the Deployment that the Deployment controller has not seen.
func templateRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	const updating = replacing + "0 of 3 nodes are updated"
	quiet := func(name string, mc *cachev1alpha1.Memcached, before, deployment *appsv1.Deployment) statusCase {
		return statusCase{name: name, mc: mc, before: before, deployment: deployment, pods: makePods(3)}
	}
	rolling := func(name string, mc *cachev1alpha1.Memcached, before, deployment *appsv1.Deployment) statusCase {
		return statusCase{name: name, mc: mc, before: before, deployment: deployment, pods: makePods(3), changing: updating}
	}
	return []statusCase{
		quiet("a write that leaves the template as it was seen", mc,
			makeDeployment(t, mc, settled), makeDeployment(t, mc, settled, next)),
		quiet("nothing is written, and the template had been seen when the status was", memcachedtest.Cache(3, reportedBefore(3, 3)),
			nil, makeDeployment(t, mc, settled, next)),
		quiet("a second such write", memcachedtest.Cache(3, reportedBefore(3, 3)),
			makeDeployment(t, mc, settled, next), makeDeployment(t, mc, settled, nextButOne)),
		rolling("a write that changes the template", memcachedtest.Cache(3, reportedBefore(3, 3)),
			makeDeployment(t, mc, settled, runs("memcached:1")), makeDeployment(t, mc, settled, next)),
		rolling("a write over a template that nobody has seen", memcachedtest.Cache(3, reportedBefore(3, 0)),
			makeDeployment(t, mc, settled, next), makeDeployment(t, mc, settled, nextButOne)),
		rolling("nothing is written, and the template had not been seen when the status was", memcachedtest.Cache(3, reportedBefore(3, 0)),
			nil, makeDeployment(t, mc, settled, next)),
		rolling("the status is of an earlier spec", memcachedtest.Cache(3, reportedBefore(3, 3), func(mc *cachev1alpha1.Memcached) {
			mc.Status.ObservedGeneration--
		}), nil, makeDeployment(t, mc, settled, next)),
		rolling("another Deployment was observed", memcachedtest.Cache(3), makeDeployment(t, mc, settled, func(d *appsv1.Deployment) {
			d.UID = "another"
		}), makeDeployment(t, mc, settled, next)),
		{
			name:       "such a write in a rollout",
			before:     makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")),
			deployment: makeDeployment(t, mc, specGeneration(3), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")),
			pods:       makePods(3), changing: replacing + "1 of 3 nodes are updated",
		},
	}
}

// TestStatusUpdatedReplicas expects the number of nodes that run the desired template. No node counts until the Deployment
// controller has observed this template.
func TestStatusUpdatedReplicas(t *testing.T) {
	mc, image := memcachedtest.Cache(3), memcachedtest.Cache(3, memcachedtest.Image("memcached:2"))
	five := func(mc *cachev1alpha1.Memcached, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
		return makeDeployment(t, mc, append([]func(*appsv1.Deployment){accepted(5), settled}, changes...)...)
	}
	paused := func(mc *cachev1alpha1.Memcached) *cachev1alpha1.Memcached {
		mc = mc.DeepCopy()
		memcachedtest.Paused(mc)
		return mc
	}
	problem := memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonAdmissionDenied, Message: "no"}}
	for _, test := range []struct {
		name    string
		mc      *cachev1alpha1.Memcached
		before  *appsv1.Deployment
		live    *appsv1.Deployment
		written memcached.Written
		want    int32
	}{
		{
			name: "those of which the Deployment says it", want: 1,
			mc: mc, live: makeDeployment(t, mc, specGeneration(2), counts(2, 4, 1, 3), progress("ReplicaSetUpdated")),
		},
		{name: "none before the Deployment is seen the first time", mc: mc, live: makeDeployment(t, mc)},
		{name: "none if the new template is refused", mc: image, live: makeDeployment(t, mc, settled), written: problem},
		{name: "none if the new template is held back", mc: paused(image), live: makeDeployment(t, mc, settled)},
		{name: "all if a new size is held back", mc: paused(mc), live: five(mc), want: 5},
		{name: "all if another object is refused", mc: mc, live: makeDeployment(t, mc, settled), written: problem, want: 3},
		{name: "none of somebody else's Deployment", mc: mc, live: makeDeployment(t, mc, settled, func(d *appsv1.Deployment) {
			d.OwnerReferences[0].UID = "another"
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			observed := memcached.Observed{Children: memcachedtest.Children(test.before)}
			if test.before == nil {
				observed.Children = memcachedtest.Children(test.live)
			}
			written := test.written
			written.Objects = []client.Object{test.live}
			status := statusOf(test.mc, observed, written, noon)
			if status.UpdatedReplicas != test.want {
				t.Errorf("got %d, want %d", status.UpdatedReplicas, test.want)
			}
			test.mc = test.mc.DeepCopy()
			test.mc.Status = status
			again := statusOf(test.mc, memcached.Observed{Children: memcachedtest.Children(test.live)}, test.written, noon)
			if again.UpdatedReplicas != test.want {
				t.Errorf("computed again from the same facts: %d, want %d", again.UpdatedReplicas, test.want)
			}
		})
	}
}

// TestStatusOfSizeZeroStaysReady covers a last status that counts no updated nodes because there are none.
func TestStatusOfSizeZeroStaysReady(t *testing.T) {
	mc := memcachedtest.Cache(0)
	deployment := makeDeployment(t, mc, settled)
	mc.Status = statusOf(mc, memcached.Observed{Children: memcachedtest.Children(deployment)}, memcached.Written{}, noon)
	next(deployment)
	status := statusOf(mc, memcached.Observed{Children: memcachedtest.Children(deployment)}, memcached.Written{}, noon)
	if ready := conditionOf(status, cachev1alpha1.ConditionReady); ready.Status != metav1.ConditionTrue {
		t.Errorf("%+v", ready)
	}
}

// nextButOne makes two generations that the Deployment controller has not seen.
func nextButOne(d *appsv1.Deployment) { d.Generation += 2 }

// reportedBefore sets a last status with Available True and these counts of nodes.
func reportedBefore(ready, updated int32) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) {
		mc.Status = cachev1alpha1.MemcachedStatus{
			ObservedGeneration: mc.Generation, Replicas: ready, ReadyReplicas: ready, UpdatedReplicas: updated,
			Conditions: []metav1.Condition{{
				Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon),
			}},
		}
	}
}

func accepted(replicas int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas }
}

// acceptedRows have a spec.size that differs from the size of the Deployment or from the number of ready nodes. One row instead has a
// change of the image that is refused in a rollout.
func acceptedRows(t *testing.T) []statusCase {
	const quota = "exceeded quota: pods"
	five := memcachedtest.Cache(5)
	outOfThree := func(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
		return makeDeployment(t, five, append([]func(*appsv1.Deployment){accepted(3), settled}, changes...)...)
	}
	noPods := func(mc *cachev1alpha1.Memcached, nodes int32) *appsv1.Deployment {
		return makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, nodes, nodes, nodes), progress(rolloutComplete), refused(quota))
	}
	noQuota := memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonQuotaExceeded, Message: quota}}
	one := memcachedtest.Cache(1)
	all := memcachedtest.Cache(3, func(mc *cachev1alpha1.Memcached) {
		mc.Spec.UpdateStrategy.MaxUnavailable = ptr.To(intstr.FromString("100%"))
	})
	return []statusCase{{
		name: "a larger size is refused: nothing is lost", mc: five, deployment: outOfThree(), pods: makePods(3), written: noQuota,
		stuck: "QuotaExceeded: " + quota, available: "True AsExpected: 3 of 5 nodes are ready",
	}, {
		name: "a larger size is refused, and nodes are lost", mc: memcachedtest.Cache(5, reportedBefore(3, 3)), deployment: outOfThree(),
		pods: makePods(1), written: noQuota, stuck: "QuotaExceeded: " + quota,
		available: "False NotReady: 1 of 5 nodes are ready, 2 are needed",
	}, {
		name: "an image is refused in a rollout", mc: memcachedtest.Cache(3, memcachedtest.Image("memcached:2")),
		deployment: outOfThree(specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")), pods: makePods(3),
		written: noQuota, stuck: "QuotaExceeded: " + quota,
	}, {
		name: "a larger size is held back", mc: memcachedtest.Cache(5, memcachedtest.Paused), deployment: outOfThree(), pods: makePods(3),
		written:     memcached.Written{Pending: []string{"Deployment"}},
		ready:       "Unknown Paused: spec.paused holds back: the Deployment, scaling from 3 to 5 nodes, which remaps keys",
		available:   "True AsExpected: 3 of 5 nodes are ready",
		progressing: "False Paused: spec.paused holds back: the Deployment, scaling from 3 to 5 nodes, which remaps keys" + resume,
	}, {
		name: "a smaller size is refused: no more than it asks for is needed", mc: one,
		deployment: makeDeployment(t, one, accepted(3), settled), pods: makePods(1), written: noQuota, stuck: "QuotaExceeded: " + quota,
		available: "True AsExpected: 1 of 1 nodes are ready",
	}, {
		name: "additional pods are refused: nodes that never were are not lost", mc: memcachedtest.Cache(5, reportedBefore(3, 3)),
		deployment: noPods(five, 3), pods: makePods(3), stuck: "QuotaExceeded: " + quota,
		available: "True AsExpected: 3 of 5 nodes are ready",
	}, {
		name: "pods in the place of lost ones are refused", mc: memcachedtest.Cache(5, reportedBefore(5, 5)), deployment: noPods(five, 3),
		pods: makePods(3), stuck: "QuotaExceeded: " + quota, available: "False NotReady: 3 of 5 nodes are ready, 4 are needed",
	}, {
		name: "additional nodes start: nothing is lost", mc: memcachedtest.Cache(5, reportedBefore(1, 1)),
		deployment: makeDeployment(t, five, specGeneration(2), revision(1), counts(2, 5, 5, 1), progress(rolloutComplete)),
		pods:       append(makePods(1), makePod("cache-5d4f-08", notReady), makePod("cache-5d4f-09", notReady)),
		ready:      "False NotReady: 1 of 5 nodes are ready", available: "True AsExpected: 1 of 5 nodes are ready",
	}, {
		name: "the first nodes of a size that was 0", mc: memcachedtest.Cache(3, reportedBefore(0, 0)),
		deployment: makeDeployment(t, memcachedtest.Cache(3), specGeneration(2), revision(1), counts(2, 0, 0, 0), progress(rolloutComplete)),
		changing:   "Scaling: Scaling from 0 to 3 nodes", available: unavailable0,
	}, {
		name: "all nodes may be unavailable, and are", mc: all, pods: makePods(3, notReady), ready: "False NotReady: 0 of 3 nodes are ready",
		available: "False NotReady: 0 of 3 nodes are ready, 1 are needed",
	}, {
		name: "all nodes may be unavailable, and one is ready", mc: all, pods: append(makePods(1), makePod("cache-5d4f-08", notReady)),
		ready: "False NotReady: 1 of 3 nodes are ready", available: "True AsExpected: 1 of 3 nodes are ready",
	}}
}

// TestRequiredReady expects the Deployment controller's numbers (MaxUnavailable in
// k8s.io/kubernetes/pkg/controller/deployment/util). A percentage is rounded down. If it comes to 0, one node may be unavailable.
func TestRequiredReady(t *testing.T) {
	number := func(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }
	percent := func(p string) *intstr.IntOrString { return ptr.To(intstr.FromString(p)) }
	for _, c := range []struct {
		size        int32
		unavailable *intstr.IntOrString
		want        int32
	}{
		{1, nil, 1},
		{3, nil, 2},
		{3, number(0), 3},
		{3, number(2), 1},
		{1, number(1), 0},
		{7, percent("25%"), 6},
		{3, percent("34%"), 2},
		{3, percent("100%"), 0},
		{3, percent("25%"), 2},
		{3, percent("0%"), 3},
		{1000, percent("99%"), 10},
		{3, percent("half"), 3}, // the schema refuses this value; if it exists nevertheless, no node may be missing
	} {
		mc := memcachedtest.Cache(c.size)
		mc.Spec.UpdateStrategy.MaxUnavailable = c.unavailable
		decided := desired.For(memcachedtest.View(mc, memcached.Observed{}), memcachedtest.Options)
		if got := requiredReady(c.size, decided); got != c.want {
			t.Errorf("size %d, maxUnavailable %v: %d must be ready, not %d", c.size, c.unavailable, c.want, got)
		}
	}
}

const (
	nothingHeld    = "False Paused: spec.paused holds changes back; there are none now"
	resume         = `. To resume: kubectl patch memcached cache -n shop --type=merge -p '{"spec":{"paused":false}}'`
	replaced       = "; the nodes will be replaced, without their items"
	waitingFor     = "Deployment cache is being deleted and must be gone first"
	overdueMessage = `ReplicaSet "cache-5d4f" says ProgressDeadlineExceeded`
)

func pauseRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3, memcachedtest.Paused)
	return []statusCase{{
		name: "paused, nothing held back", mc: mc, pods: makePods(3), progressing: nothingHeld,
	}, {
		name:       "paused, and the spec has changed since",
		mc:         memcachedtest.Cache(3, memcachedtest.Paused, memcachedtest.Image("memcached:2"), withoutBudget),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3),
		written:     memcached.Written{Pending: []string{"Service", "Deployment", "PodDisruptionBudget"}, TemplatePending: true},
		ready:       "Unknown Paused: spec.paused holds back: the Service, the Deployment, the PodDisruptionBudget",
		progressing: "False Paused: spec.paused holds back: the Service, the Deployment, the PodDisruptionBudget" + replaced + resume,
	}, {
		name: "paused, and somebody has changed the Deployment in what has no field", mc: mc, pods: makePods(3),
		written: memcached.Written{Pending: []string{"Deployment"}}, ready: "Unknown Paused: spec.paused holds back: the Deployment",
		progressing: "False Paused: spec.paused holds back: the Deployment" + resume,
	}, {
		name: "paused, and somebody else's Deployment is in the way of a change", mc: memcachedtest.Cache(5, memcachedtest.Paused),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3), written: memcached.Written{Pending: []string{"Service"}},
		ready: "Unknown Paused: spec.paused holds back: the Service", available: "True AsExpected: 3 of 5 nodes are ready",
		progressing: "False Paused: spec.paused holds back: the Service" + resume,
	}, {
		name: "paused before anything was created", mc: mc,
		written: memcached.Written{Pending: []string{"Service", "PodDisruptionBudget", "Deployment"}},
		ready:   "Unknown Paused: spec.paused holds back: the Service, the PodDisruptionBudget, the Deployment", available: unavailable0,
		progressing: "False Paused: spec.paused holds back: the Service, the PodDisruptionBudget, the Deployment" + resume,
	}, {
		name: "paused in a rollout, which the cluster goes on with", mc: mc,
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")),
		pods:       makePods(3), ready: "False " + replacing + "1 of 3 nodes are updated", progressing: nothingHeld,
	}, {
		name: "paused, and a node is missing", mc: mc, pods: makePods(2), ready: "False NotReady: 2 of 3 nodes are ready",
		available: available2, progressing: nothingHeld,
	}}
}

func withoutBudget(mc *cachev1alpha1.Memcached) { mc.Spec.PodDisruptionBudget.Enabled = new(false) }

func deletionRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	return []statusCase{{
		name: "the Deployment of an earlier Memcached of the same name must be gone first", written: memcached.Written{Waiting: waitingFor},
		changing: "WaitingForDeletion: " + waitingFor, available: unavailable0,
	}, {
		name: "the Service must be gone first, the nodes run", pods: makePods(3),
		written:  memcached.Written{Waiting: "Service cache is being deleted and must be gone first"},
		changing: "WaitingForDeletion: Service cache is being deleted and must be gone first",
	}, {
		name: "the Memcached is being deleted, its pods are still there", mc: memcachedtest.Cache(3, inDeletion),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3), changing: "WaitingForDeletion: The Memcached is being deleted",
	}, {
		name: "a pause does not stop the deletion", mc: memcachedtest.Cache(3, inDeletion, memcachedtest.Paused),
		deployment: makeDeployment(t, mc, settled), pods: makePods(3, terminating),
		changing: "WaitingForDeletion: The Memcached is being deleted", available: unavailable0,
	}}
}

func stuckRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	return []statusCase{{
		name:       "the rollout is overdue",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2), progress(rolloutOverdue)),
		pods:       append(makePods(2), makePod("cache-5d4f-02", notReady)), ready: "False Stuck: " + overdueMessage, available: available2,
		progressing: "False Stuck: " + overdueMessage,
	}, {
		name: "the rollout is overdue, and it is known why",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2),
			progress(rolloutOverdue)),
		pods: append(makePods(2), makePod("cache-5d4f-02", notReady, noRoomFor)), stuck: "Unschedulable: " + unschedulable02,
		available: available2,
	}, {
		name: "a change of the overdue rollout is on its way to the Deployment controller",
		deployment: makeDeployment(t, mc, specGeneration(3), revision(2), counts(2, 3, 1, 2),
			progress(rolloutOverdue)),
		pods: append(makePods(2), makePod("cache-5d4f-02", notReady)), changing: replacing + "0 of 3 nodes are updated",
		available: available2,
	}, {
		name:       "scaled up, and there is no room",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 3, 3, 2), progress(rolloutComplete)),
		pods:       append(makePods(2), makePod("cache-5d4f-02", notReady, noRoomFor)), trouble: "Unschedulable: " + unschedulable02,
		available: available2,
	}, {
		name: "scaling up, and a quota refuses",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 2, 2, 2), progress(rolloutComplete),
			refused(`pods "cache-5d4f-x7x2k" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2`)),
		pods:      makePods(2),
		stuck:     "QuotaExceeded: pods is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2. Lower spec.size, or raise the quota",
		available: available2,
	}, {
		name: "the ReplicaSet itself is refused",
		deployment: makeDeployment(t, mc, deploymentSays("Progressing", "ReplicaSetCreateError",
			`Failed to create new replica set "cache-5d4f": replicasets.apps "cache-5d4f" is forbidden: exceeded quota: sets`)),
		stuck:     `QuotaExceeded: Failed to create new replica set "cache-5d4f": replicasets.apps "cache-5d4f" is forbidden: exceeded quota: sets`,
		available: unavailable0,
	}, {
		name:       "the Service is refused, the rollout goes on",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 3), progress("ReplicaSetUpdated")),
		pods:       makePods(3),
		written:    memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonConflict, Message: "Service cache belongs to nobody"}},
		trouble:    "Conflict: Service cache belongs to nobody", progressing: "True " + replacing + "1 of 3 nodes are updated",
	}, {
		name:    "nothing can be created",
		written: memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonAdmissionDenied, Message: "no"}},
		stuck:   "AdmissionDenied: no", available: unavailable0,
	}}
}

// TestHeldBackNamesAKindOnce covers a pause that holds back two ConfigMaps, as with a StatefulSet. A size of 0 keeps no items.
func TestHeldBackNamesAKindOnce(t *testing.T) {
	f := &facts{Written: memcached.Written{Pending: []string{"ConfigMap", "ConfigMap", "Deployment"}}}
	f.Workload = &memcached.Workload{Kind: cachev1alpha1.WorkloadDeployment, Size: 3}
	held := f.heldBack()
	if want := []string{"the ConfigMap", "the Deployment", "scaling from 3 to 0 nodes, which loses all items"}; !slices.Equal(held, want) {
		t.Errorf("%q, want %q", held, want)
	}
}
