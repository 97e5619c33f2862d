{{/* The beginning of all names. The longest name, that of the Service of the metrics, may have 63 characters. */}}
{{- define "memcached-operator.fullname" -}}
{{- $name := .Release.Name }}
{{- if not (contains .Chart.Name $name) }}
{{- $name = printf "%s-%s" $name .Chart.Name }}
{{- end }}
{{- .Values.fullnameOverride | default $name | trunc 28 | trimSuffix "-" }}
{{- end }}

{{/* The service account of the operator. */}}
{{- define "memcached-operator.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (printf "%s-controller-manager" (include "memcached-operator.fullname" .)) }}
{{- end }}

{{/* The labels of all objects, beside those that config gives them. */}}
{{- define "memcached-operator.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The labels of the ServiceMonitor, whose own labels win. */}}
{{- define "memcached-operator.monitorLabels" -}}
{{- toYaml (mergeOverwrite (include "memcached-operator.labels" . | fromYaml) (.Values.monitoring.labels | default dict)) }}
{{- end }}

{{/* The image of the operator. */}}
{{- define "memcached-operator.image" -}}
{{- .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}
{{- else }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* A file that make helm-sync copies from config, with the names, the namespace and the labels of this release. The argument is a dict
with root and file. */}}
{{- define "memcached-operator.synced" -}}
{{- $fullname := include "memcached-operator.fullname" .root }}
{{- $account := include "memcached-operator.serviceAccountName" .root }}
{{- $labels := include "memcached-operator.labels" .root | nindent 4 }}
{{- $text := .root.Files.Get .file | replace "\n    app.kubernetes.io/managed-by: kustomize" $labels }}
{{- $text = regexReplaceAll "([nN]ame: )memcached-operator-" $text (printf "${1}%s-" $fullname) }}
{{- $text = $text | replace (printf "%s-controller-manager" $fullname) $account }}
{{- $text | replace "memcached-operator-controller-manager" $account | replace "memcached-operator-system" .root.Release.Namespace }}
{{- end }}
