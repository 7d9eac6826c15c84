{{/* The name of every object of this release. */}}
{{- define "causeway.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end }}

{{/* Labels that select the pod, and never change. */}}
{{- define "causeway.selector" -}}
app.kubernetes.io/name: causeway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "causeway.labels" -}}
{{ include "causeway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "causeway.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}

{{/* The value of the annotation that Multus reads. */}}
{{- define "causeway.attachments" -}}
{{- $list := list }}
{{- range .Values.network.attachments }}
{{- $parts := splitList "/" .name }}
{{- $entry := dict "name" (last $parts) "interface" .interface }}
{{- if gt (len $parts) 1 }}{{ $_ := set $entry "namespace" (first $parts) }}{{ end }}
{{- with .addresses }}{{ $_ := set $entry "ips" . }}{{ end }}
{{- $list = append $list $entry }}
{{- end }}
{{- toJson $list }}
{{- end }}

{{/* The configuration of the UPF. */}}
{{- define "causeway.configuration" -}}
logger:
  level: {{ .Values.upf.logLevel }}
upf:
  max_sessions: {{ int .Values.upf.maxSessions }}
  pfcp:
    server:
      - dev: {{ .Values.upf.n4 }}
    {{- with .Values.upf.allow }}
    allow: {{ join ", " . }}
    {{- end }}
    {{- with .Values.upf.smf }}
    client:
      smf:
        {{- range . }}
        - address: {{ . }}
        {{- end }}
    {{- end }}
  gtpu:
    server:
      - dev: {{ .Values.upf.n3 }}
  session:
    {{- toYaml .Values.upf.sessions | nindent 4 }}
  metrics:
    server:
      - address: 127.0.0.1
        port: 9098
      - address: 0.0.0.0
        port: {{ .Values.metrics.port }}
  {{- with .Values.upf.extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
