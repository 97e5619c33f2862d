// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/render"
)

const port = memcached.Port

// labelsOf returns the labels of an object. The user's labels (wanted) override the descriptive labels, and the labels that
// selectors use override both.
func labelsOf(mc *cachev1alpha1.Memcached, wanted map[string]cachev1alpha1.LabelValue) map[string]string {
	return render.Labels("cache", wanted, memcached.SelectorLabels(mc))
}
