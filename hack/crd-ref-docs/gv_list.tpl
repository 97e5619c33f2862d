{{- define "gvList" -}}
# API reference

<!-- Generated from the types in api/ by make api-docs. -->

`kubectl explain memcached.spec --recursive` says the same in the terminal.
{{ range . }}{{ template "gvDetails" . }}{{ end -}}
{{- end -}}
