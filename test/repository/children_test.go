// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"regexp"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcachedproxy"
	"github.com/example/memcached-operator/test/repository"
)

// place is a file that must name every Kind of object that the operator creates for Memcacheds, for MemcachedProxies or for both.
type place struct {
	file []string
	// pattern returns a regular expression that finds the Kind or its resource in the file.
	pattern func(kind schema.GroupVersionKind, resource string) string
}

func TestEveryPlaceKnowsEveryChildKind(t *testing.T) {
	memcacheds, proxies := map[schema.GroupVersionKind]bool{}, map[schema.GroupVersionKind]bool{}
	for _, child := range memcached.Children {
		memcacheds[child.Kind] = true
	}
	for _, child := range memcachedproxy.Children {
		proxies[child.Kind] = true
	}
	shared := []place{
		{[]string{"config", "components", "admission-policy", "writes.yaml"}, write},
		{[]string{"test", "bench", "audit-policy.yaml"}, listed},
	}
	expect(t, memcacheds, append(shared,
		place{[]string{"controllers", "memcached_controller.go"}, marker},
		place{[]string{"config", "components", "admission-policy", "children.yaml"}, listed},
		place{[]string{"api", "v1alpha1", "memcached_types.go"}, csv},
	))
	expect(t, proxies, append(shared,
		place{[]string{"config", "components", "admission-policy", "proxies.yaml"}, listed},
		place{[]string{"api", "v1alpha1", "memcachedproxy_types.go"}, csv},
	))
}

func expect(t *testing.T, kinds map[schema.GroupVersionKind]bool, places []place) {
	t.Helper()
	for kind := range kinds {
		plural, _ := apimeta.UnsafeGuessKindToResource(kind)
		for _, place := range places {
			if !regexp.MustCompile(place.pattern(kind, plural.Resource)).MatchString(repository.Read(t, place.file...)) {
				t.Errorf("%s does not name %s: see \"Add a child Kind\" in docs/development.md", strings.Join(place.file, "/"), kind.Kind)
			}
		}
	}
}

func listed(_ schema.GroupVersionKind, resource string) string {
	return `resources: *\[[^\]]*\b` + resource + `\b[^/]`
}

func write(kind schema.GroupVersionKind, resource string) string {
	if kind.Group == "" {
		return `'` + resource + `': \[`
	}
	return `'` + regexp.QuoteMeta(kind.Group) + `/` + resource + `': \[`
}

func marker(_ schema.GroupVersionKind, resource string) string {
	return `(?m)^// \+kubebuilder:rbac:.*resources=([a-z;]*;)?` + resource + `\b`
}

func csv(kind schema.GroupVersionKind, _ string) string {
	return `\+operator-sdk:csv:customresourcedefinitions:.*\{` + kind.Kind + `,` + kind.Version + `\}`
}
