// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package memcached

import cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"

// Patterns returns the pattern of the host names of the nodes of each copy: one name, with %d in place of the node's number.
func Patterns(mc *cachev1alpha1.Memcached) []string { return []string{mc.Name + "-%d." + Host(mc)} }
