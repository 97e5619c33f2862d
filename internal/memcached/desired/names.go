// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

const port = memcached.Port

// role returns the role of the Memcached's pods.
func role(mc *cachev1alpha1.Memcached) render.Role {
	return render.Role{Owner: mc, Component: "cache", Selector: memcached.SelectorLabels(mc)}
}
