// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// valueExpressions maps the name of a value to its Helm expression, for values whose fields are always in the manifest. For
// optional values, the function expressions makes the Helm expressions.
var valueExpressions = map[string]string{
	"replicas":       "{{ .Values.replicas }}",
	"image":          `{{ include "memcached-operator.image" . | quote }}`,
	"agentImage":     "{{ .Values.agentImage | quote }}",
	"memcachedImage": "{{ .Values.memcachedImage | quote }}",
	"goMemoryLimit":  "{{ .Values.goMemoryLimit | quote }}",
	// The namespaces are sorted, so that another order of the same namespaces does not restart the operator.
	"watchNamespaces": `{{ sortAlpha (.Values.watchNamespaces | default list) | join "," | quote }}`,
}

// scalars are the optional values that are neither maps nor lists.
var scalars = map[string]bool{
	"priorityClassName": true, "image.pullPolicy": true, "monitoring.interval": true, "monitoring.scrapeTimeout": true,
}

// markedValue matches a line on which a mark stands for the content of a field, or for a list item. For marks, see valueMark.
var markedValue = regexp.MustCompile(`(?m)^( *)(- |\w+: )` + regexp.QuoteMeta(valueMark) + `([\w.]+)$`)

// markedFields matches a line on which a mark is a key in a map. The mark stands for additional fields of the map.
var markedFields = regexp.MustCompile(`(?m)^( *)` + regexp.QuoteMeta(valueMark) + `([\w.]+): ""$`)

// expressions replaces the marks in a text by expressions of Helm templates.
func expressions(text string) string {
	text = markedFields.ReplaceAllStringFunc(text, func(line string) string {
		parts := markedFields.FindStringSubmatch(line)
		return fmt.Sprintf("{{- with .Values.%s }}\n%s{{- toYaml . | nindent %d }}\n{{- end }}", parts[2], parts[1], len(parts[1]))
	})
	text = markedValue.ReplaceAllStringFunc(text, func(line string) string {
		parts := markedValue.FindStringSubmatch(line)
		indent, field, value := parts[1], parts[2], parts[3]
		if expression := valueExpressions[value]; expression != "" {
			return indent + field + expression
		}
		start := "{{- with .Values." + value + " }}\n"
		switch {
		case field == "- ":
			return fmt.Sprintf("%s%s{{- toYaml . | nindent %d }}\n{{- end }}", start, indent, len(indent))
		case scalars[value]:
			return start + indent + field + "{{ . | quote }}\n{{- end }}"
		}
		field = strings.TrimSpace(field)
		return fmt.Sprintf("%s%s%s\n%s  {{- toYaml . | nindent %d }}\n{{- end }}", start, indent, field, indent, len(indent)+2)
	})
	return strings.NewReplacer(
		namespaceMark, "{{ .Release.Namespace | quote }}",
		accountMark, `{{ include "memcached-operator.serviceAccountName" . }}`,
		nameMark, `{{ include "memcached-operator.fullname" . }}-`,
		labelsMark+`: ""`, `{{- include "memcached-operator.labels" . | nindent 4 }}`,
		monitorLabelsMark+`: ""`, `{{- include "memcached-operator.monitorLabels" . | nindent 4 }}`,
	).Replace(text)
}
