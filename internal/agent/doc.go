// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent runs beside memcached in each pod. It serves memcached's statistics as Prometheus series, reports whether memcached
// answers, and loads certificates and users from Secrets into memcached (see package credentials). It does not use the API server.
//
// The memcached is a node, which stores items, or a proxy, which forwards requests to nodes. Its parent process is a launcher. The
// launcher of a node can fill it with the items of another Memcached: the one in spec.fillFrom. The launcher of a proxy writes the
// proxy's routes: the list of nodes, and how the keys are shared among them. The agent asks the launcher for its status.
//
// After an upgrade of the operator, older agents keep running. The agent's interface therefore has a version: see
// docs/design/agent-interface.md.
package agent
