#!/usr/bin/env bash
# Deploys a branch and waits until it serves: creates the deployment the first time, updates it afterwards.
#   TREADLE_URL, TREADLE_API_KEY, TREADLE_WORKSPACE_ID   where and as whom
#   ci-deploy.sh deploy NAME REPO_URL REF [--watch 60s]  ends 0 when the revision is DEPLOYED, 1 when it failed
#                                                        with --watch also 1 when its server ends by itself in that time
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

# A server that loads and answers may still die a moment later.
watch_it() { # DEPLOYMENT REVISION SECONDS
  local until=$((SECONDS + $3)) now
  while true; do
    now=$(call GET "/v2/deployments/$1/revisions/$2")
    if ! jq -e '.status == "DEPLOYED" and .restarts == 0' <<<"$now" >/dev/null; then
      jq -r '"The server did not stay: \(.status), ended by itself \(.restarts) times. \(.last_exit.reason // "")\n\(.status_message)"' <<<"$now" >&2
      return 1
    fi
    [ "$SECONDS" -lt "$until" ] || return 0
    sleep 1
  done
}

seconds_of() { # 60s, 2m or a number of seconds
  case "$1" in
    *[!0-9sm]* | "" | [sm]*) echo "--watch wants a time such as 60s or 2m, not $1." >&2; exit 2 ;;
    *m) echo $((${1%m} * 60)) ;;
    *) echo "${1%s}" ;;
  esac
}

deploy() { # NAME REPO_URL REF [--watch TIME]
  local id deployment watched=0
  case "${4:-}" in
    "") ;;
    --watch) watched=$(seconds_of "${5:-}") ;;
    *) usage ;;
  esac
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
  [ "$watched" -eq 0 ] || watch_it "$(jq -r .id <<<"$deployment")" "$(jq -r .latest_revision_id <<<"$deployment")" "$watched"
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

usage() {
  sed -n '2,7p' "$0" >&2
  exit 2
}

case "${1:-}" in
  deploy) deploy "${@:2}" ;;
  delete) delete "$2" ;;
  *) usage ;;
esac
