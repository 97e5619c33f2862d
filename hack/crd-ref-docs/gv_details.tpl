{{- define "gvDetails" }}
## {{ .GroupVersionString }}
{{- $gv := . -}}
{{- /* The kinds first, then the types of their fields (spec and status), then the rest by name. */ -}}
{{- $done := dict -}}
{{- range $kind := .SortedKinds }}
{{- $type := $gv.TypeForKind $kind }}{{ $_ := set $done $type.Name true }}{{ template "type" $type }}
{{- range $type.Members }}
{{- if and (hasPrefix $type.Name .Type.Name) (not (hasKey $done .Type.Name)) }}
{{- $_ := set $done .Type.Name true }}{{ template "type" .Type }}
{{- end }}
{{- end }}
{{- end }}
{{- range .SortedTypes }}
{{- if not (hasKey $done .Name) }}{{ template "type" . }}{{ end }}
{{- end }}
{{ end -}}
