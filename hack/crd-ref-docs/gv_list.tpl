{{- define "gvList" -}}
# API reference

<!-- Generated from the types in api/ by make manifests. -->

`kubectl explain memcached.spec.FIELD` prints the same in a terminal, and the bounds of selectors.
{{ range . }}{{ template "gvDetails" . }}{{ end -}}
{{- end -}}
