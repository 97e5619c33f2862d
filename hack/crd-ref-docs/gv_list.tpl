{{- define "gvList" -}}
# API reference

<!-- Generated from the types in api/ by make api-docs. -->

`kubectl explain memcached.spec --recursive` prints the same information in a terminal.
{{ range . }}{{ template "gvDetails" . }}{{ end -}}
{{- end -}}
