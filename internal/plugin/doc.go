// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is the command "kubectl memcached". It shows what is inside caches, changes items, and restarts nodes.
//
// A cache is a Memcached resource. Its nodes are its pods. Its figures are the statistics that the commands show. Its agents are the
// containers beside memcached that serve metrics, and its series are these metrics. Its twin is the Memcached that spec.fillFrom
// names: an empty node copies items from the twin's node with the same number. The program that copies them is the launcher, which
// starts memcached in the pods of a StatefulSet.
//
// Each command has a file, but get, set and delete share keys.go. Commands read Memcacheds and pods with the permissions of the
// user. They reach memcached through the API server, as "kubectl port-forward" does: this needs neither the operator nor an agent.
// The computations in figures.go, table.go, cost.go, members.go, recommend.go and redact.go need no cluster.
package plugin
