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
