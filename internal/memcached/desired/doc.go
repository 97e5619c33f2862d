// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package desired computes the objects that a Memcached must have. It is pure, and does not import package status. The comment of
// package memcached explains the words node, workload, record, wave and twin.
//
// In a StatefulSet, launchers run memcached. An argument list consists of memcached's command-line arguments and spec.restartedAt.
// A ConfigMap contains argument lists, and a section for each pod template. The section assigns a list to each node by an entry
// with the node's number and the list's hash. A launcher reads the section of the template from which its pod was created.
//
// A change in place gives existing pods of a StatefulSet other images and resources.
package desired
