{{- define "gvList" -}}
# API reference

<!-- Generated from the types in api/ by make manifests. -->

`kubectl explain memcached.spec.FIELD` prints the same in a terminal, and the bounds of the types that have the fields of Kubernetes' own: affinity,
tolerations, spread constraints and selectors, without references to other namespaces.
{{ range . }}{{ template "gvDetails" . }}{{ end -}}
{{- end -}}
