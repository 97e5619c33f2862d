// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent runs beside memcached in each pod. It serves memcached's statistics as Prometheus series, reports whether memcached
// answers, and loads certificates and users from Secrets into memcached (see package credentials). It does not use the API server.
//
// After an upgrade of the operator, older agents keep running. Their interface therefore has a version: see
// docs/design/agent-interface.md, which also lists the agent's connections to memcached.
package agent
