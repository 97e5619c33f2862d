// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of a Memcached from what was observed, the plan, and the result of the write. It is pure, and
// knows of the desired state only what is in memcached.Plan. Package memcached explains the words node, workload, wave, twin and
// record. An orphan is a node of a former workload.
package status
