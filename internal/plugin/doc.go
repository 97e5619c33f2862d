// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is kubectl memcached. It shows what is inside a cache, and makes the changes that users make by hand.
//
// Each command has a file, but get, set and delete share keys.go. Commands read Memcacheds and pods with the permissions of the user. They
// reach memcached through the API server, as kubectl port-forward does: this needs neither the operator nor an agent. Computations are pure
// functions: figures.go, table.go, cost.go, members.go, recommend.go, redact.go.
package plugin
