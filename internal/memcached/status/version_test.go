// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

func TestVersionOfAnImage(t *testing.T) {
	for image, want := range map[string]string{
		"memcached:1.6.45":                          "1.6.45",
		"memcached:1.6.44":                          "1.6.44 is old",
		"memcached:1.6.9":                           "1.6.9 is old",
		"memcached:1.5.99":                          "1.5.99 is old",
		"memcached:0.9.0":                           "0.9.0 is old",
		"memcached:1.6.100":                         "1.6.100",
		"memcached:1.7.0":                           "1.7.0",
		"memcached:2.0.0":                           "2.0.0",
		"docker.io/library/memcached:1.6.45-alpine": "1.6.45",
		"registry.example.com:5000/team/memcached:1.6.38-trixie": "1.6.38 is old",
		"docker.io/bitnami/memcached:1.6.38-debian-12-r0":        "1.6.38 is old",
		"memcached:v1.6.40":                           "1.6.40 is old",
		"memcached:1.6":                               "unknown",
		"memcached:1.6-alpine":                        "unknown",
		"memcached:1":                                 "unknown",
		"memcached:latest":                            "unknown",
		"memcached:1.6.45rc":                          "unknown",
		"memcached:1.6.40.1":                          "1.6.40 is old",
		"memcached:99999.0.0":                         "unknown",
		"memcached":                                   "unknown",
		"registry.example.com:5000/memcached":         "unknown",
		"memcached@sha256:" + strings.Repeat("0", 64): "unknown",
		"memcached:1.6.40@sha256:" + strings.Repeat("0", 64):      "unknown",
		"example.com/team/cache:1.6.40":                           "unknown",
		"example.com/team/my-memcached:1.6.40":                    "unknown",
		"example.com/memcached/exporter:0.14.3":                   "unknown",
		"example.com/memcached:1.6.40/exporter":                   "unknown",
		"registry.example.com/memcached:1.6.45_build.7-2026-11-2": "1.6.45",
	} {
		got, old := versionOf(image)
		if old {
			got += " is old"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

// The version comes from the image in the workload, and is empty until there is a workload.
func TestStatusHasTheVersionOfTheImage(t *testing.T) {
	mc := memcachedtest.Cache(3, memcachedtest.Image("memcached:1.6.46-alpine"))
	observed := memcached.Observed{Children: memcachedtest.Children(makeDeployment(t, mc, settled)), Pods: makePods(3)}
	if got := statusOf(mc, observed, memcached.Written{}, noon).Version; got != "1.6.46" {
		t.Errorf("the version is %q, want 1.6.46", got)
	}
	if got := statusOf(mc, memcached.Observed{}, memcached.Written{}, noon).Version; got != "" {
		t.Errorf("the version before there is an image is %q", got)
	}
}
