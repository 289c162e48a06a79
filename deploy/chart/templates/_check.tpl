{{- /* What the schema cannot say in words: all that is missing or does not fit together, in one message. */}}
{{- define "treadle.check" -}}
{{- $problems := list -}}
{{- $v := .Values -}}
{{- if and $v.secrets $v.existingSecret -}}
{{- $problems = append $problems "secrets, existingSecret: set one of them. With both, secrets would be left out." -}}
{{- end -}}
{{- range $name, $from := $v.secretRefs -}}
{{- if hasKey $v.secrets $name -}}
{{- $problems = append $problems (printf "secrets.%s: it is also in secretRefs. Keep one of them." $name) -}}
{{- end -}}
{{- end -}}
{{- $places := dict "settings" $v.settings "roleDefaults.settings" ($v.roleDefaults.settings | default dict) -}}
{{- range $role, $own := $v.roles -}}
{{- $_ := set $places (printf "roles.%s.settings" $role) (($own | default dict).settings | default dict) -}}
{{- end -}}
{{- range $place, $settings := $places -}}
{{- range $name := splitList " " "DATABASE_URL TREADLE_API_KEY TREADLE_SECRET_KEY TREADLE_PREVIOUS_SECRET_KEY TREADLE_WEBHOOK_SECRET TREADLE_BLOB_ACCESS_KEY_ID TREADLE_BLOB_SECRET_ACCESS_KEY TREADLE_BLOB_SESSION_TOKEN TREADLE_OIDC_CLIENT_SECRET TREADLE_TRACES_URL" -}}
{{- if hasKey $settings $name -}}
{{- $problems = append $problems (printf "%s.%s: it is a secret. Put it under secrets, or name a Secret that has it." $place $name) -}}
{{- end -}}
{{- end -}}
{{- range $name := splitList " " "PORT TREADLE_PORT TREADLE_DATA_DIR TREADLE_ROLES" -}}
{{- if hasKey $settings $name -}}
{{- $problems = append $problems (printf "%s.%s: the chart sets it. Leave it out." $place $name) -}}
{{- end -}}
{{- end -}}
{{- range $name := splitList " " "TREADLE_SHUTDOWN_LEAVE_SECONDS TREADLE_SHUTDOWN_GRACE_SECONDS" -}}
{{- if hasKey $settings $name -}}
{{- $problems = append $problems (printf "%s.%s: Kubernetes must know it, too. Set shutdown instead." $place $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.parentRefs) -}}
{{- $problems = append $problems "httpRoute.parentRefs: name the Gateway that serves it, such as [{name: public, namespace: gateways}]." -}}
{{- end -}}
{{- $needed := dict -}}
{{- if include "treadle.runsPods" . -}}
{{- $_ := set $needed "DATABASE_URL" "a PostgreSQL server that pods reach" -}}
{{- end -}}
{{- if eq $v.mode "distributed" -}}
{{- $_ := set $needed "TREADLE_SECRET_KEY" "the encryption key, 16 or more characters" -}}
{{- $_ := set $needed "TREADLE_API_KEY" "the first API key, 16 or more characters" -}}
{{- if not $v.settings.TREADLE_PUBLIC_URL -}}
{{- $problems = append $problems "settings.TREADLE_PUBLIC_URL: the address people use, such as https://treadle.example.com." -}}
{{- end -}}
{{- if not $v.settings.TREADLE_BLOB_URL -}}
{{- $problems = append $problems "settings.TREADLE_BLOB_URL: the bucket that all pods reach, such as s3://treadle/production." -}}
{{- else if hasPrefix "file:" $v.settings.TREADLE_BLOB_URL -}}
{{- $problems = append $problems "settings.TREADLE_BLOB_URL: pods share no folder. Give a bucket, such as s3://treadle/production." -}}
{{- end -}}
{{- if ne ($v.settings.TREADLE_RUNTIME | default "kubernetes") "kubernetes" -}}
{{- $problems = append $problems "settings.TREADLE_RUNTIME: leave it out. Deployed agents are pods, which every gateway reaches." -}}
{{- end -}}
{{- if ne $v.service.type "ClusterIP" -}}
{{- $problems = append $problems (printf "service.type: %s reaches one role alone. Keep ClusterIP, and set ingress.enabled or httpRoute.enabled." $v.service.type) -}}
{{- end -}}
{{- range $role := splitList " " (include "treadle.roleNames" .) -}}
{{- $each := include "treadle.role" (dict "root" $ "role" $role) | fromYaml -}}
{{- if and $each.autoscaling.enabled (gt (int $each.autoscaling.minReplicas) (int $each.autoscaling.maxReplicas)) -}}
{{- $problems = append $problems (printf "roles.%s.autoscaling: minReplicas is more than maxReplicas." $role) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $v.existingSecret -}}
{{- range $name, $what := $needed -}}
{{- if not (or (hasKey $v.secrets $name) (hasKey $v.secretRefs $name)) -}}
{{- $problems = append $problems (printf "secrets.%s: %s. Or name a Secret that has it: existingSecret, or secretRefs.%s." $name $what $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n\nThese values do not work with mode %s:\n  %s\n" $v.mode (join "\n  " $problems)) -}}
{{- end -}}
{{- end -}}
