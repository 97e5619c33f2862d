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
		name: "creating: the Deployment is not in the cache", changing: "Creating: Starting 3 nodes", available: unavailable0,
	}, {
		name: "creating: the Deployment controller has not seen the Deployment", deployment: makeDeployment(t, mc),
		changing: "Creating: Starting 3 nodes", available: noReport,
	}, {
		name:       "creating: there is a ReplicaSet, and no count",
		deployment: makeDeployment(t, mc, revision(1), progress("NewReplicaSetCreated")), changing: "Creating: Starting 3 nodes",
		available: noReport,
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
	return []statusCase{{
		name: "rolling out: the Deployment controller has not seen the change", deployment: makeDeployment(t, mc, settled, specGeneration(2)),
		pods: makePods(3, old), changing: replacing + "0 of 3 nodes are updated",
	}, {
		name:       "rolling out: the first node is being replaced",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 1, 2), progress("ReplicaSetUpdated")),
		pods:       append(makePods(2, old), makePod("cache-5d4f-02", updated, notReady)), changing: replacing + "1 of 3 nodes are updated",
		available: available2,
	}, {
		name:       "rolling out: every node is ready, one is old",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(2), counts(2, 3, 2, 3), progress("ReplicaSetUpdated")),
		pods:       append(makePods(1, old), makePods(2)...), changing: replacing + "2 of 3 nodes are updated",
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
		name:       "rolling back with a surge, one old node left",
		deployment: makeDeployment(t, mc, specGeneration(3), revision(3), counts(3, 4, 3, 4), progress(rolloutComplete)),
		pods:       append(makePods(1, old), makePods(3)...), changing: replacing + "3 of 3 nodes are updated",
		available: "True AsExpected: 4 of 3 nodes are ready",
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
		name:       "scaling up: seen, and no pod created",
		deployment: makeDeployment(t, mc, specGeneration(2), revision(1), counts(2, 1, 1, 1), progress(rolloutComplete)), pods: makePods(1),
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
