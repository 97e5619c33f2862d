// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestStatusIsPlainText puts text of the cluster into the conditions in several ways, and into the image.
func TestStatusIsPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb":                               "a b",
		"a\r\n\tb":                           "a   b",
		"a\u2028b\u2029c\u0085d":             "a b c d",
		"\x1b[31mred\x1b[0m":                 "\uFFFD[31mred\uFFFD[0m",
		"nul\x00bell\x07del\x7fc1\u009b":     "nul\uFFFDbell\uFFFDdel\uFFFDc1\uFFFD",
		"\u202aa\u202bb\u202cc\u202dd\u202e": "\uFFFDa\uFFFDb\uFFFDc\uFFFDd\uFFFD",
		"\u2066a\u2067b\u2068c\u2069":        "\uFFFDa\uFFFDb\uFFFDc\uFFFD",
		"\u200ea\u200fb\u061c":               "\uFFFDa\uFFFDb\uFFFD",
		"invalid \xff":                       "invalid \uFFFD",
		"größer, 大, العربية, 👍 — \"quoted\"": "größer, 大, العربية, 👍 — \"quoted\"",
	} {
		mc := memcachedtest.Cache(1)
		deployment := makeDeployment(t, mc, settled)
		for path, c := range map[string]statusCase{
			"a refusal":    {written: memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonApplyFailed, Message: text}}},
			"a deletion":   {written: memcached.Written{Waiting: text}},
			"an exit":      {pods: []corev1.Pod{makePod("cache-5d4f-00", notReady, exited(1, "Error", text))}},
			"a failed pod": {pods: []corev1.Pod{makePod("cache-5d4f-00", rejected("Evicted", text))}},
			"an image":     {pods: []corev1.Pod{makePod("cache-5d4f-00", waiting("ErrImagePull", text))}},
		} {
			c.mc, c.deployment = mc, deployment
			want, found := want, false
			if path == "an exit" { // in quotation marks, which the text cannot end
				want = strings.ReplaceAll(want, `"`, "'")
			}
			for _, condition := range c.status(noon).Conditions {
				found = found || strings.Contains(condition.Message, want)
				if strings.Contains(condition.Message, text) && text != want {
					t.Errorf("%s: %s is %q", path, condition.Type, condition.Message)
				}
			}
			if !found {
				t.Errorf("%s: %q is in no condition", path, want)
			}
		}
		runs(text)(deployment)
		if image := (statusCase{mc: mc, deployment: deployment}).status(noon).Image; image != want {
			t.Errorf("the image is %q, want %q", image, want)
		}
	}
}

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
