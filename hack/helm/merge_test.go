// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	for name, test := range map[string]struct {
		whole, namespaced, withoutCRDs string
		want                           string
	}{
		"what all have":       {"a b", "a b", "a b", "a|b|"},
		"what one lacks":      {"a b c", "a c", "a b c", "a|{{- if not .Values.namespaced }}|b|{{- end }}|c|"},
		"what two lack":       {"a b c", "a c", "a c", "a|{{- if and (not .Values.namespaced) .Values.crds.enabled }}|b|{{- end }}|c|"},
		"what one has":        {"a b", "a x b", "a b", "a|{{- if .Values.namespaced }}|x|{{- end }}|b|"},
		"what one replaces":   {"a b c", "a x c", "a b c", "a|{{- if not .Values.namespaced }}|b|{{- else }}|x|{{- end }}|c|"},
		"what two replace":    {"a b", "a x", "a x", "a|{{- if and (not .Values.namespaced) .Values.crds.enabled }}|b|{{- else }}|x|{{- end }}|"},
		"what two do in turn": {"a", "a x", "a y", "a|{{- if .Values.namespaced }}|x|{{- end }}|{{- if not .Values.crds.enabled }}|y|{{- end }}|"},
		"a missing manifest":  {"a b", "", "a b", "{{- if not .Values.namespaced }}|a|b|{{- end }}|"},
		"one in a variant":    {"", "a", "", "{{- if .Values.namespaced }}|a|{{- end }}|"},
	} {
		t.Run(name, func(t *testing.T) {
			got := merge(strings.Fields(test.whole), [][]string{strings.Fields(test.namespaced), strings.Fields(test.withoutCRDs)})
			if want := strings.ReplaceAll(test.want, "|", "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// If the text that an edit replaces is no longer in config, build must return an error.
func TestChangedConfigIsNoticed(t *testing.T) {
	b, err := newBuilder(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.build(complete, []string{"- ../gone\n", ""}); err == nil || !strings.Contains(err.Error(), `"- ../gone\n"`) {
		t.Errorf("got %v, want an error that names the line", err)
	}
}
