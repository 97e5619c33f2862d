// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/controllers"
)

func TestCacheOptionsNamespaces(t *testing.T) {
	for value, want := range map[string][]string{
		"":          nil,
		" ":         nil,
		"one":       {"one"},
		"one,two":   {"one", "two"},
		" one, two": {"one", "two"},
		"one,,two,": {"one", "two"},
	} {
		got := slices.Sorted(maps.Keys(controllers.CacheOptions(value).DefaultNamespaces))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("WATCH_NAMESPACE=%q: -want +got:\n%s", value, diff)
		}
	}
}
