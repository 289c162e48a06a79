{{- /* Everything about a role: the defaults, and over them what the role says itself. */}}
{{- define "treadle.role" -}}
{{- $own := index .root.Values.roles .role | default dict -}}
{{- toYaml (mustMergeOverwrite (deepCopy .root.Values.roleDefaults) (deepCopy $own)) -}}
{{- end -}}

{{- define "treadle.roleNames" -}}
api ingest gateway worker export controller builder
{{- end -}}

{{- /* Roles that take requests, and so have a Service. */}}
{{- define "treadle.servingRoles" -}}
api ingest gateway
{{- end -}}

{{- define "treadle.roleSelector" -}}
{{ include "treadle.selector" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "treadle.roleLabels" -}}
{{ include "treadle.labels" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- /* "true" where deployed agents are pods. */}}
{{- define "treadle.runsPods" -}}
{{- if or (eq .Values.mode "distributed") (eq (.Values.settings.TREADLE_RUNTIME | default "") "kubernetes") }}true{{ end -}}
{{- end -}}

{{- /* "true" where builds are pods of their own, and not processes in that of the builder. */}}
{{- define "treadle.buildsInJobs" -}}
{{- if and (include "treadle.runsPods" .) (ne (.Values.settings.TREADLE_BUILDS | default "jobs") "here") }}true{{ end -}}
{{- end -}}

{{- /* "true" where each workspace has a namespace of its own. */}}
{{- define "treadle.namespacePerWorkspace" -}}
{{- if and (include "treadle.runsPods" .) (eq (.Values.settings.TREADLE_KUBERNETES_NAMESPACE_PER | default "platform") "workspace") }}true{{ end -}}
{{- end -}}

{{- /* "true" where pods may be in namespaces of workspaces: also of those from before the way back to one for all. */}}
{{- define "treadle.workspaceRights" -}}
{{- if or (include "treadle.namespacePerWorkspace" .) (and (include "treadle.runsPods" .) (.Values.workspaceNamespaces | default dict).keepRights) }}true{{ end -}}
{{- end -}}

{{- define "treadle.installation" -}}
{{- .Values.settings.TREADLE_KUBERNETES_INSTALLATION | default .Release.Name -}}
{{- end -}}

{{- /* What a platform must know that runs agents as pods beside itself. */}}
{{- define "treadle.podSettings" -}}
TREADLE_RUNTIME: kubernetes
TREADLE_KUBERNETES_IMAGE: {{ include "treadle.image" . | quote }}
TREADLE_KUBERNETES_NAMESPACE: {{ .Release.Namespace }}
TREADLE_KUBERNETES_INSTALLATION: {{ .Release.Name }}
TREADLE_INTERNAL_URL: http://{{ include "treadle.serviceName" (dict "root" . "role" "api") }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end -}}

{{- /* The settings of a container: those of the values come last and win. */}}
{{- define "treadle.environment" -}}
{{- $own := dict -}}
{{- if include "treadle.runsPods" .root }}{{ $own = include "treadle.podSettings" .root | fromYaml }}{{ end -}}
{{- range $name, $value := mustMergeOverwrite $own (deepCopy .root.Values.settings) (deepCopy (.settings | default dict)) }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name, $from := .root.Values.secretRefs }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $from.name }}
      key: {{ $from.key }}
{{- end }}
{{- end -}}

{{- /* What every pod is: not root, without rights, and with nothing but its data folder and /tmp to write to. */}}
{{- define "treadle.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: {{ ternary "Unconfined" "RuntimeDefault" .sandbox }}
{{- end -}}

{{- define "treadle.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
{{- if .sandbox }}
procMount: Unmasked
{{- end }}
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* A pod leaves a lost node soon, unless the values say how long it stays there. */}}
{{- define "treadle.tolerations" -}}
{{- $all := .Values.tolerations -}}
{{- $seconds := dict "node.kubernetes.io/unreachable" .Values.lostNode.unreachableSeconds "node.kubernetes.io/not-ready" .Values.lostNode.notReadySeconds -}}
{{- range $key, $stay := $seconds -}}
{{- $isNamed := false -}}
{{- range $.Values.tolerations -}}
{{- $isAny := and (not .key) (eq (.operator | default "") "Exists") (eq (.effect | default "NoExecute") "NoExecute") -}}
{{- if or $isAny (eq (.key | default "") $key) }}{{ $isNamed = true }}{{ end -}}
{{- end -}}
{{- if not $isNamed -}}
{{- $all = append $all (dict "key" $key "operator" "Exists" "effect" "NoExecute" "tolerationSeconds" $stay) -}}
{{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}
