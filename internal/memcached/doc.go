// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package memcached holds the values that decisions about a Memcached use: names, the table of children, the observed state, the
// plan. Packages desired and status decide what the objects and the status must be. Neither imports the other.
//
// One reconcile: watch event -> observe: View -> desired.For: Plan -> write: Written -> status.For -> one status patch -> events
//
// Words: a node is one memcached in its pod; a cluster node is a machine. The workload is the Deployment or StatefulSet of a
// Memcached. The record (an annotation of a Deployment) says from which spec and defaults it was last written. In each pod of a
// StatefulSet, the parent of memcached runs it with the arguments of the pod's first start, or of its entry in a ConfigMap. A step
// of package rollout changes, replaces or deletes one pod, or its entry. A change in place gives existing pods other arguments,
// images and resources. The nodes of each copy have a StatefulSet, and those of one number have the same items.
//
// A proxy is a memcached that passes requests on to nodes. Routes tell proxies the names and the number of the nodes. Another number is
// announced two minutes before it takes effect, so that all proxies change at the same time.
//
// All three packages are pure: they use no cluster, clock, environment or log.
package memcached
