// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides every step of every node of a StatefulSet whose update strategy is OnDelete: the StatefulSet's controller only
// creates missing pods, from the newest template. Next gets what was observed of the nodes, and returns the steps to take now.
//
// A node has what its pod was last asked for. The pod's spec and status, and the answer of its parent process, only say whether that
// took effect. So a webhook, a mirror or an autoscaler may change pods without causing a step.
//
// The package is pure: no client, no context, no clock, no log.
package rollout
