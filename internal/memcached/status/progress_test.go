// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func creationRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	return []statusCase{{
		name:        "creating: the Deployment is not in the cache",
		mc:          mc,
		ready:       "False Creating: Starting 3 nodes",
		available:   unavailable0,
		progressing: "True Creating: Starting 3 nodes",
		degraded:    asExpected,
	}, {
		name:        "creating: the Deployment controller has not seen the Deployment",
		mc:          mc,
		deployment:  makeDeployment(t, mc),
		ready:       "False Creating: Starting 3 nodes",
		available:   unreported,
		progressing: "True Creating: Starting 3 nodes",
		degraded:    asExpected,
	}, {
		name:        "creating: there is a ReplicaSet, and no count",
		mc:          mc,
		deployment:  makeDeployment(t, mc, revision(1), progress("NewReplicaSetCreated")),
		ready:       "False Creating: Starting 3 nodes",
		available:   unreported,
		progressing: "True Creating: Starting 3 nodes",
		degraded:    asExpected,
	}, {
		name:        "creating: pods before the count",
		mc:          mc,
		deployment:  makeDeployment(t, mc, revision(1), progress("NewReplicaSetCreated")),
		pods:        makePods(3, notReady),
		ready:       "False Creating: Starting 3 nodes",
		available:   unavailable0,
		progressing: "True Creating: Starting 3 nodes",
		degraded:    asExpected,
	}, {
		name:        "creating: one node is ready",
		mc:          mc,
		deployment:  makeDeployment(t, mc, revision(1), counts(1, 3, 3, 1), progress("ReplicaSetUpdated")),
		pods:        append(makePods(1), makePod("cache-5d4f-08", notReady), makePod("cache-5d4f-09", notReady)),
		ready:       "False Creating: 1 of 3 nodes are started",
		available:   unavailable1,
		progressing: "True Creating: 1 of 3 nodes are started",
		degraded:    asExpected,
	}, {
		name:        "creating: all nodes are ready, the Deployment does not say so yet",
		mc:          mc,
		deployment:  makeDeployment(t, mc, revision(1), counts(1, 3, 3, 2), progress("ReplicaSetUpdated")),
		pods:        makePods(3),
		ready:       "False Creating: 2 of 3 nodes are started",
		available:   available3,
		progressing: "True Creating: 2 of 3 nodes are started",
		degraded:    asExpected,
	}, {
		name:        "created",
		mc:          mc,
		deployment:  makeDeployment(t, mc, settled),
		pods:        makePods(3),
		ready:       allThreeReady,
		available:   available3,
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "created with size 0",
		mc:          memcachedtest.Cache(0),
		deployment:  makeDeployment(t, memcachedtest.Cache(0), settled),
		ready:       "True AllNodesReady: No nodes are wanted, and none exist",
		available:   "True MinimumNodesReady: 0 of 0 nodes are ready",
		progressing: complete,
		degraded:    asExpected,
	}}
}

func rolloutRows(t *testing.T) []statusCase {
	mc := memcachedtest.Cache(3)
	old, updated := ofReplicaSet("cache", "0000"), ofReplicaSet("cache", "5d4f")
	return []statusCase{{
		name:        "rolling out: the Deployment controller has not seen the change",
		mc:          mc,
		deployment:  makeDeployment(t, mc, settled, specGeneration(2)),
		pods:        makePods(3, old),
		ready:       "False RollingOut: Updating 3 nodes",
		available:   available3,
		progressing: "True RollingOut: Updating 3 nodes",
		degraded:    asExpected,
	}, {
		name:        "rolling out: the first node is being replaced",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2), progress("ReplicaSetUpdated")),
		pods:        append(makePods(2, old), makePod("cache-5d4f-02", updated, notReady)),
		ready:       "False RollingOut: 1 of 3 nodes are updated",
		available:   available2,
		progressing: "True RollingOut: 1 of 3 nodes are updated",
		degraded:    asExpected,
	}, {
		name:        "rolling out: every node is ready, one is old",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 2, 3), progress("ReplicaSetUpdated")),
		pods:        append(makePods(1, old), makePods(2)...),
		ready:       "False RollingOut: 2 of 3 nodes are updated",
		available:   available3,
		progressing: "True RollingOut: 2 of 3 nodes are updated",
		degraded:    asExpected,
	}, {
		name:        "rolling out with a surge",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 4, 1, 3), progress("ReplicaSetUpdated")),
		pods:        append(makePods(3, old), makePod("cache-5d4f-03", notReady)),
		ready:       "False RollingOut: 1 of 3 nodes are updated",
		available:   available3,
		progressing: "True RollingOut: 1 of 3 nodes are updated",
		degraded:    asExpected,
	}, {
		// The Deployment controller keeps the condition of the last rollout when it goes back to a ReplicaSet that exists.
		name:        "rolling back, no node replaced",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(3), revision(3), counts(3, 3, 0, 3), progress(rolloutComplete)),
		pods:        makePods(3, old),
		ready:       "False RollingOut: 0 of 3 nodes are updated",
		available:   available3,
		progressing: "True RollingOut: 0 of 3 nodes are updated",
		degraded:    asExpected,
	}, {
		name:        "rolling back with a surge is no scaling",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(3), revision(3), counts(3, 4, 1, 3), progress(rolloutComplete)),
		pods:        append(makePods(3, old), makePod("cache-5d4f-03", notReady)),
		ready:       "False RollingOut: 1 of 3 nodes are updated",
		available:   available3,
		progressing: "True RollingOut: 1 of 3 nodes are updated",
		degraded:    asExpected,
	}, {
		name:        "rolling back with a surge, one old node left",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(3), revision(3), counts(3, 4, 3, 4), progress(rolloutComplete)),
		pods:        append(makePods(1, old), makePods(3)...),
		ready:       "False RollingOut: 3 of 3 nodes are updated",
		available:   "True MinimumNodesReady: 4 of 3 nodes are ready",
		progressing: "True RollingOut: 3 of 3 nodes are updated",
		degraded:    asExpected,
	}, {
		name:        "rolled out",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(2), settled, revision(2)),
		pods:        makePods(3),
		ready:       allThreeReady,
		available:   available3,
		progressing: complete,
		degraded:    asExpected,
	}}
}

func scalingRows(t *testing.T) []statusCase {
	mc, two := memcachedtest.Cache(3), memcachedtest.Cache(2)
	return []statusCase{{
		name:        "scaling: the Deployment controller has not seen the change",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(2), revision(1), counts(1, 1, 1, 1), progress(rolloutComplete)),
		pods:        makePods(1),
		ready:       "False Scaling: Scaling from 1 to 3 nodes",
		available:   unavailable1,
		progressing: "True Scaling: Scaling from 1 to 3 nodes",
		degraded:    asExpected,
	}, {
		name:        "scaling up: seen, and no pod created",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 1, 1, 1), progress(rolloutComplete)),
		pods:        makePods(1),
		ready:       "False Scaling: Scaling from 1 to 3 nodes",
		available:   unavailable1,
		progressing: "True Scaling: Scaling from 1 to 3 nodes",
		degraded:    asExpected,
	}, {
		// From here on nothing tells a node that is new from one that was replaced: Ready says what is missing.
		name:        "scaled up: a new node is not ready",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 3, 3, 2), progress(rolloutComplete)),
		pods:        append(makePods(2), makePod("cache-5d4f-02", notReady)),
		ready:       "False NodesUnavailable: 2 of 3 nodes are ready",
		available:   available2,
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "scaling down",
		mc:          two,
		deployment:  makeDeployment(t, two, specGeneration(2), revision(1), counts(2, 3, 3, 3), progress(rolloutComplete)),
		pods:        makePods(3),
		ready:       "False Scaling: Scaling from 3 to 2 nodes",
		available:   "True MinimumNodesReady: 3 of 2 nodes are ready",
		progressing: "True Scaling: Scaling from 3 to 2 nodes",
		degraded:    asExpected,
	}, {
		name:        "scaled down: the pod that leaves is still there",
		mc:          two,
		deployment:  makeDeployment(t, two, specGeneration(2), revision(1), counts(2, 2, 2, 2), progress(rolloutComplete)),
		pods:        append(makePods(2), makePod("cache-5d4f-02", terminating)),
		ready:       "True AllNodesReady: All 2 nodes are ready",
		available:   "True MinimumNodesReady: 2 of 2 nodes are ready",
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "scaled down: the cache of pods lags behind",
		mc:          two,
		deployment:  makeDeployment(t, two, specGeneration(2), revision(1), counts(2, 2, 2, 2), progress(rolloutComplete)),
		pods:        makePods(3),
		ready:       "False Scaling: 3 nodes exist, 2 are wanted",
		available:   "True MinimumNodesReady: 3 of 2 nodes are ready",
		progressing: complete,
		degraded:    asExpected,
	}, {
		name:        "scaling in a rollout: the Deployment controller has not seen the change",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(3), revision(2), counts(2, 5, 1, 3), progress("ReplicaSetUpdated")),
		pods:        makePods(3),
		ready:       "False Scaling: Scaling from 5 to 3 nodes",
		available:   available3,
		progressing: "True Scaling: Scaling from 5 to 3 nodes",
		degraded:    asExpected,
	}, {
		name:        "scaling and rolling out at once: the ReplicaSet of the new template does not exist",
		mc:          mc,
		deployment:  makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 1, 0, 1), progress(rolloutComplete)),
		pods:        makePods(1),
		ready:       "False RollingOut: 0 of 3 nodes are updated",
		available:   unavailable1,
		progressing: "True RollingOut: 0 of 3 nodes are updated",
		degraded:    asExpected,
	}}
}
