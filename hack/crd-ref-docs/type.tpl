{{- define "type" -}}
{{- $type := . -}}
{{- /* The page leaves out what the operator keeps for itself, which kubectl explain shows. It also
leaves out types of strings, because the fields that have them name the values. */ -}}
{{- $hidden := "^(MemcachedRecord|MemcachedFormerRecord|MemcachedDefaults|RecordedValue|DefaultImage|LabelValue|AnnotationValue|TLSVersion|WorkloadKind|PlaintextMode|ClientAuth|StorageType|PodUpdatePolicy)$" -}}
{{- if and (markdownShouldRenderType $type) (not (regexMatch $hidden $type.Name)) }}

### {{ $type.Name }}
{{- /* Without the name of the type, with which most comments begin. */ -}}
{{- $text := regexReplaceAll "^\\w+ (?:is|are|says?|names) " $type.Doc "" }}

{{ upper (substr 0 1 $text) }}{{ substr 1 -1 $text }}
{{- if $type.IsAlias }}

A {{ markdownRenderTypeLink $type.UnderlyingType }}.
{{- with $type.Validation }}{{ range . }} {{ . }}.{{ end }}{{ end }}
{{- end }}
{{- if $type.Members }}

| Field | Meaning |
|---|---|
{{- if $type.GVK }}
| `apiVersion`, `kind` | `{{ $type.GVK.Group }}/{{ $type.GVK.Version }}`, `{{ $type.GVK.Kind }}` |
{{- end }}
{{- range $type.Members }}
{{- if ne .Name "metadata" }}
| `{{ .Name }}`<br>{{ template "field_type" .Type }}{{ template "required" . }} | {{ template "type_members" . }}{{ template "default" . }}{{ template "enum" . }} |
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "type_members" -}}
{{- /* Without the name of the field, with which each comment begins. */ -}}
{{- $doc := .Doc | replace "\n" " " -}}
{{- $doc = regexReplaceAll "^\\w+ (?:is|are) " $doc "" -}}
{{- $doc = regexReplaceAll "^\\w+ (configures|limits|lets|selects?|allow|spread) " $doc "${1} " -}}
{{- regexReplaceAll "^\\w+ (?:says?|name|list) (how|the|when|where|whether|which|who|what|from|to)\\b" $doc "${1}" | markdownRenderFieldDoc -}}
{{- end -}}

{{- /* Links to pkg.go.dev for Kubernetes types, because its pages keep their addresses. */ -}}
{{- define "field_type" -}}
{{- $link := markdownRenderType . -}}
{{- $link = regexReplaceAll "\\[(\\w+)\\]\\(https://kubernetes.io/[^)]*-v1-(core|networking)\\)" $link "[${1}](https://pkg.go.dev/k8s.io/api/${2}/v1#${1})" -}}
{{- $link = regexReplaceAll "\\[(\\w+)\\]\\(https://kubernetes.io/[^)]*-v1-meta\\)" $link "[${1}](https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#${1})" -}}
{{- $link = regexReplaceAll "\\[(\\w+)\\]\\(https://kubernetes.io/[^)]*-resource-api\\)" $link "[${1}](https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#${1})" -}}
{{- $link = regexReplaceAll "\\[(\\w+)\\]\\(https://kubernetes.io/[^)]*-intstr-util\\)" $link "[${1}](https://pkg.go.dev/k8s.io/apimachinery/pkg/util/intstr#${1})" -}}
{{- $link = regexReplaceAll "\\[(LabelValue|AnnotationValue|TLSVersion|WorkloadKind|PlaintextMode|ClientAuth|StorageType|PodUpdatePolicy)\\]\\(#[a-z]+\\)" $link "string" -}}
{{- $link = regexReplaceAll "\\[(MemcachedRecord)\\]\\(#[a-z]+\\)" $link "object" -}}
{{- regexReplaceAll "object \\(keys:string, values:(.*)\\)$" $link "map of ${1}" -}}
{{- end -}}

{{- define "required" -}}
{{- range .Validation }}{{ if hasPrefix "Required" . }}, required{{ end }}{{ end -}}
{{- end -}}

{{- /* This adds the defaults that comments do not name. An empty object as a default only means that the defaults of its fields apply.
The default of a status is only for the output of kubectl get. */ -}}
{{- define "default" -}}
{{- if and .Default (ne (.Default | nospace) "{}") (not (contains "default" .Doc)) (ne .Name "status") }} The default is `{{ .Default }}`.{{ end -}}
{{- end -}}

{{- define "enum" -}}
{{- $doc := .Doc -}}
{{- range .Validation }}{{ if hasPrefix "Enum" . }}
{{- $values := . | trimPrefix "Enum: [" | trimSuffix "]" | splitList " " -}}
{{- if not (contains (last $values) $doc) }} One of {{ $values | join ", " }}.{{ end }}
{{- end }}{{ end -}}
{{- end -}}
