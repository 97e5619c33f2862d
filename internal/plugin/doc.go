// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is kubectl memcached: what is inside a cache, and what its operator has to do by hand.
//
// Each command is a file. It reads Memcacheds and pods with the permissions of the user, reaches memcached through the API server
// as kubectl port-forward does, and needs neither the operator nor an agent. What is computed from what was read is in pure
// functions: figures.go, table.go, cost.go, members.go, redact.go.
package plugin
