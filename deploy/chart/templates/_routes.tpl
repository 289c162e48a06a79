{{- /* Which role takes which path. An Ingress knows no methods: what it sends to api instead of ingest is served there, too. */}}
{{- define "treadle.paths" -}}
{{- if eq .Values.mode "distributed" -}}
- { path: /d, type: Prefix, role: gateway }
- { path: /api/v1/runs, type: Exact, role: ingest }
- { path: /api/v1/runs/batch, type: Exact, role: ingest }
- { path: /api/v1/runs/multipart, type: Exact, role: ingest }
- { path: /api/v1/otel, type: Prefix, role: ingest }
- { path: /, type: Prefix, role: api }
{{- else -}}
- { path: /, type: Prefix, role: "" }
{{- end -}}
{{- end -}}

{{- /* The Service of a role; of `single`, the one there is. */}}
{{- define "treadle.serviceName" -}}
{{ include "treadle.name" .root }}{{ if eq .root.Values.mode "distributed" }}-{{ .role }}{{ end }}
{{- end -}}
