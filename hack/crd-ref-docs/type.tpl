{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}

### {{ $type.Name }}

{{ $type.Doc }}
{{- if $type.References }}

Appears in: {{ range $i, $ref := $type.SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $ref }}{{ end }}.
{{- end }}
{{- if $type.IsAlias }}

A {{ markdownRenderTypeLink $type.UnderlyingType }}.
{{- with $type.Validation }}{{ range . }} {{ . }}.{{ end }}{{ end }}
{{- end }}
{{- if $type.Members }}

| Field | Type | Meaning | Default | Limits |
| --- | --- | --- | --- | --- |
{{- if $type.GVK }}
| `apiVersion` | string | `{{ $type.GVK.Group }}/{{ $type.GVK.Version }}` | | |
| `kind` | string | `{{ $type.GVK.Kind }}` | | |
{{- end }}
{{- range $type.Members }}
| `{{ .Name }}` | {{ template "field_type" .Type }} | {{ template "type_members" . }} | {{ template "default" . }} | {{ template "limits" . }} |
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
The metadata of the object.
{{- else -}}
{{ .Doc | replace "\n" " " | markdownRenderFieldDoc }}
{{- end -}}
{{- end -}}

{{- /* Links to the pages of the Kubernetes types that stay where they are. */ -}}
{{- define "field_type" -}}
{{- $link := markdownRenderType . -}}
{{- $link = regexReplaceAll "\\[(\\w+)\\]\\(https://kubernetes.io/[^)]*-v1-core\\)" $link "[${1}](https://pkg.go.dev/k8s.io/api/core/v1#${1})" -}}
{{- $link = regexReplaceAll "\\[(\\w+)\\]\\(https://kubernetes.io/[^)]*-v1-meta\\)" $link "[${1}](https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#${1})" -}}
{{- $link = regexReplaceAll "\\[(\\w+)\\]\\(https://kubernetes.io/[^)]*-resource-api\\)" $link "[${1}](https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#${1})" -}}
{{- $link = regexReplaceAll "\\[(\\w+)\\]\\(https://kubernetes.io/[^)]*-intstr-util\\)" $link "[${1}](https://pkg.go.dev/k8s.io/apimachinery/pkg/util/intstr#${1})" -}}
{{- regexReplaceAll "object \\(keys:string, values:(.*)\\)$" $link "map of ${1}" -}}
{{- end -}}

{{- /* An empty object as a default only says that the defaults inside of it count. */ -}}
{{- define "default" -}}
{{- if and .Default (ne (.Default | nospace) "{}") }}`{{ .Default }}`{{ end -}}
{{- end -}}

{{- define "limits" -}}
{{- $limits := list -}}
{{- range .Validation }}
{{- if hasPrefix "Required" . }}{{ $limits = append $limits "Required" }}
{{- else if not (or (hasPrefix "Optional" .) (hasPrefix "XIntOrString" .) (hasPrefix "Type: string" .) (contains "XValidation:" .)) }}{{ $limits = append $limits (markdownRenderFieldDoc .) }}
{{- end }}
{{- end }}
{{- $limits | join "<br />" -}}
{{- end -}}
