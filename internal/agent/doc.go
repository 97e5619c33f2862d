// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent runs beside memcached in each pod. It serves memcached's statistics as Prometheus series, reports whether memcached
// answers, and loads certificates and users from Secrets into memcached (see package credentials). It has no access to the API server.
//
// Agents outlive the operator that started them, so their interface has a version: docs/design/agent-interface.md lists it, and says
// which connections to memcached the agent opens.
package agent
