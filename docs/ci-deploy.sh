#!/usr/bin/env bash
# Deploys a branch and waits until it serves: creates the deployment the first time, updates it afterwards.
#   TREADLE_URL, TREADLE_API_KEY, TREADLE_WORKSPACE_ID   where and as whom
#   ci-deploy.sh deploy NAME REPO_URL REF                ends 0 when the revision is DEPLOYED, 1 when it failed
#   ci-deploy.sh delete NAME                             ends 1 when there is none of that name
# Needs curl and jq.
set -euo pipefail

call() { # METHOD PATH [JSON]
  curl --silent --show-error --fail-with-body --request "$1" "$TREADLE_URL$2" \
    --header "X-Api-Key: $TREADLE_API_KEY" --header "X-Tenant-Id: $TREADLE_WORKSPACE_ID" \
    ${3:+--header "Content-Type: application/json" --data "$3"}
}

find_id() { # NAME
  call GET "/v2/deployments?name=$(jq -rn --arg name "$1" '$name | @uri')" | jq -r '.resources[0].id // empty'
}

wait_for() { # DEPLOYMENT REVISION
  local status last=""
  while true; do
    status=$(call GET "/v2/deployments/$1/revisions/$2" | jq -r .status)
    [ "$status" = "$last" ] || echo "$status"
    last=$status
    case "$status" in
      DEPLOYED) return 0 ;;
      *FAILED* | SKIPPED | INTERRUPTED)
        call GET "/v2/deployments/$1/revisions/$2" | jq -r .status_message >&2
        return 1 ;;
    esac
    sleep 2
  done
}

deploy() { # NAME REPO_URL REF
  local id deployment
  id=$(find_id "$1")
  if [ -z "$id" ]; then
    deployment=$(call POST /v2/deployments "$(jq -n --arg name "$1" --arg url "$2" --arg ref "$3" \
      --arg install "${INSTALL_COMMAND:-}" '{
        name: $name, source: "github", secrets: [],
        source_config: ({repo_url: $url, deployment_type: "dev", build_on_push: false}
          + (if $install == "" then {} else {install_command: $install} end)),
        source_revision_config: {repo_ref: $ref, graph_config_path: "langgraph.json"}}')")
  else
    deployment=$(call PATCH "/v2/deployments/$id" "$(jq -n --arg ref "$3" '{source_revision_config: {repo_ref: $ref}}')")
  fi
  wait_for "$(jq -r .id <<<"$deployment")" "$(jq -r .latest_revision_id <<<"$deployment")"
  jq -r '"Serving at \(.url)"' <<<"$deployment"
}

delete() { # NAME
  local id
  id=$(find_id "$1")
  if [ -z "$id" ]; then
    echo "There is no deployment named $1 in this workspace." >&2
    return 1
  fi
  call DELETE "/v2/deployments/$id"
  echo "Deleted $1"
}

case "${1:-}" in
  deploy) deploy "$2" "$3" "$4" ;;
  delete) delete "$2" ;;
  *) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac
