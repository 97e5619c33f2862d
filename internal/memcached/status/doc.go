// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package status computes the status of a Memcached. It is pure. All that it knows of the desired state is in memcached.Plan.
// Package memcached explains its words.
package status
