import { randomUUID } from "node:crypto";
import {
  created,
  exists,
  type ForeignCall,
  type ForeignCalls,
  json,
  lookUp,
  search,
  unreachable,
} from "./foreign-call.ts";
import type { TenantIds } from "./tenant-resources.ts";

const noPicker: ForeignCall = { owner: { status: 404, why: "there are no picker sessions" } };
const repositories: ForeignCall = { owner: unreachable(502) };
const revisionOf = (ids: TenantIds) => ({
  revision_source: "internal_source",
  source_config: { integration_id: ids.integrationId, listener_id: ids.listenerId },
  source_revision_config: { source_tarball_path: ids.uploadPath },
});
const noLease = { status: 409, why: "nobody has the lease of that epoch" };
const leased: ForeignCall = { ...json(() => ({ epoch: 0 })), owner: noLease, refusal: 409 };
const notUploaded = { status: 400, why: "nothing was uploaded there yet" };
const logQuery = json(() => ({ limit: 10 }));

/** Workspaces, deployments and accounts. */
export const platformCalls: ForeignCalls = {
  // Models asked by hand: the run it was taken from is a note, nothing of it is read
  "POST /v2/playground/stream": {
    ...json((ids) => ({
      model: "offline",
      messages: [{ role: "user", content: "hello" }],
      source_run_id: ids.traceRunId,
    })),
    outcome: "makes its own",
  },
  // Workspaces
  "POST /v2/api-keys": {
    ...json((ids) => ({ name: "x", role: "viewer", user_id: ids.userId, workspace_id: ids.workspaceId })),
    refusal: 422,
  },
  "PUT /v2/organizations/{organization_id}/plan": {
    ...json(() => ({ plan: "plus" })),
    owner: { status: 403, why: "it is for who runs the installation" },
  },
  "PATCH /v2/workspaces/{workspace_id}": json(() => ({ name: "Renamed" })),
  "PUT /v2/model-keys/{provider}": {
    send: () => ({ params: { provider: "openai" }, body: { key: "a-key-of-the-provider" } }),
    outcome: "makes its own",
  },
  "DELETE /v2/model-keys/{provider}": {
    send: () => ({ params: { provider: "openai" } }),
    outcome: "makes its own",
    turn: 10,
  },
  "POST /v2/members/{user_id}/invitation": {
    owner: { status: 409, why: "the member has signed in before" },
  },
  "PATCH /v2/members/{user_id}": json(() => ({ role: "editor" })),
  "PATCH /v2/auth/sessions/current": {
    ...json((ids) => ({ workspace_id: ids.workspaceId })),
    owner: { status: 403, why: "a key has no session" },
  },
  "DELETE /v2/workspaces/{workspace_id}": { turn: 11, owner: { status: 409, why: "it has deployments" } },
  "DELETE /v2/members/{user_id}": { turn: 10 },
  "GET /v2/auth/sessions": lookUp((ids) => ({ user_id: ids.userId })),
  "DELETE /v2/auth/sessions": lookUp((ids) => ({ user_id: ids.userId })),
  "DELETE /v2/auth/sessions/{session_id}": { send: (ids) => ({ query: { user_id: ids.userId } }) },
  "GET /v2/audit-events": lookUp((ids) => ({
    user_id: ids.userId,
    api_key_id: ids.keyId,
    target_id: ids.deploymentId,
  })),
  "GET /v2/audit-events/export": lookUp((ids) => ({
    user_id: ids.userId,
    api_key_id: ids.keyId,
    target_id: ids.deploymentId,
  })),
  // Deployments
  "GET /v2/deployments": lookUp((ids) => ({ deployment_ids: ids.deploymentId })),
  "DELETE /v2/deployments/{deployment_id}": { turn: 9 },
  "DELETE /v2/deployments": {
    ...lookUp((ids) => ({ deployment_ids: ids.deploymentId })),
    turn: 10,
    owner: { status: 404, why: "it is deleted already" },
  },
  "DELETE /v1/integrations/github/{integration_id}": {
    turn: 10,
    owner: { status: 409, why: "a deployment uses it" },
  },
  "POST /v2/deployments": {
    ...json((ids) => ({
      name: `made-${crypto.randomUUID()}`,
      source: "github",
      source_config: {
        repo_url: ids.repositoryUrl,
        integration_id: ids.integrationId,
        listener_id: ids.listenerId,
      },
      source_revision_config: { repo_ref: "main" },
    })),
    refusal: 400,
    without: { source_tarball_path: "is for a deployment that exists; see the routes of revisions" },
  },
  "PATCH /v2/deployments/{deployment_id}": { ...json(revisionOf), refusal: 400, owner: notUploaded },
  "POST /v2/deployments/{deployment_id}/revisions": { ...json(revisionOf), refusal: 400, owner: notUploaded },
  "POST /v2/deployments/{deployment_id}/restart": {
    owner: { status: 409, why: "it serves nothing yet" },
  },
  "POST /v2/deployments/{deployment_id}/sleep": {
    owner: { status: 409, why: "it serves nothing yet" },
  },
  "POST /v2/deployments/{deployment_id}/wake": {
    owner: { status: 409, why: "it is stopped" },
  },
  "PUT /v2/deployments/{deployment_id}/previews": json(() => ({ enabled: true, share_secrets: false })),
  "POST /v2/deployments/{deployment_id}/domains": json(() => ({
    domain: `made-${crypto.randomUUID()}.example.com`,
  })),
  "DELETE /v2/deployments/{deployment_id}/domains/{domain}": { turn: 8 },
  "POST /v2/alerts": json((ids) => ({
    ...{ name: "x", kind: "no_traffic", scope: "deployment", scope_id: ids.deploymentId },
    webhook_url: "http://127.0.0.1:9/hook",
  })),
  "PATCH /v2/alerts/{alert_id}": json(() => ({ window_minutes: 30 })),
  "DELETE /v2/alerts/{alert_id}": { turn: 10 },
  "POST /v2/deployments/{deployment_id}/push-token": {
    owner: { status: 400, why: "there is no registry" },
  },
  "POST /v2/deployments/{deployment_id}/revisions/{revision_id}/interrupt": {
    owner: { status: 409, why: "the other spelling of the route has done it" },
  },
  "GET /v2/deployments/{deployment_id}/logs": {
    send: (ids) => ({ query: { run_id: ids.runId } }),
    free: ["runId"],
  },
  "GET /v2/deployments/{deployment_id}/revisions/{revision_id}/logs": {
    send: (ids) => ({ query: { run_id: ids.runId, type: "build" } }),
    free: ["runId"],
  },
  "POST /v2/deployment-pages/{slug}/codes": {
    ...json(() => ({ state: "none" })),
    owner: { status: 403, why: "a key has no session" },
  },
  "PATCH /v2/deployments/{deployment_id}/deployment-tier": json(() => ({ deployment_tier: "DEDICATED_S" })),
  "PATCH /v2/deployments/{deployment_id}/resource-tiers": json(() => ({ compute_tier: "DEDICATED_S" })),
  "POST /v1/projects/{deployment_id}/revisions/{revision_id}/build_logs": logQuery,
  "POST /v1/projects/{deployment_id}/revisions/{revision_id}/deploy_logs": logQuery,
  "POST /v1/projects/{deployment_id}/deploy_logs": logQuery,
  "GET /v2/deployment-logs": lookUp((ids) => ({
    deployment_id: ids.deploymentId,
    revision_id: ids.revisionId,
    log_type: "BUILD",
    run_id: ids.runId,
  })),
  "GET /v2/deployments/{deployment_id}/logs/stream": {
    send: (ids) => ({ query: { revision_id: ids.revisionId, type: "build", run_id: ids.runId } }),
    free: ["runId"],
  },
  "PUT /v2/uploads/{deployment_id}/{file}": { send: () => ({ body: "no token" }) },
  "POST /v1/integrations/github/{integration_id}/webhook": json(() => ({ ref: "refs/heads/main" })),
  "GET /v1/integrations/github/{integration_id}/repos": repositories,
  "GET /v1/integrations/forge/github/{integration_id}/repos": repositories,
  "GET /v2/integrations/github/installations/{integration_id}/repositories": repositories,
  "GET /v2/integrations/forge-github/installations/{integration_id}/repositories": repositories,
  "GET /v2/integrations/github/picker-sessions/{session_id}": noPicker,
  "GET /v2/integrations/forge-github/picker-sessions/{session_id}": noPicker,
  "POST /v2/integrations/github/picker-sessions/{session_id}/selection": noPicker,
  "POST /v2/integrations/forge-github/picker-sessions/{session_id}/selection": noPicker,
  "PATCH /v2/listeners/{listener_id}": {
    ...json(() => ({ version: "2" })),
    without: {
      api_key_id: "only one with the scope listener; listener-keys.test.ts tries another workspace's",
    },
  },
  "DELETE /v2/listeners/{listener_id}": { owner: { status: 409, why: "it has deployments" } },
  "POST /v2/listeners/{listener_id}/lease": {
    ...json(() => ({
      ...{
        place: randomUUID(),
        holder: randomUUID(),
        version: "1",
        runtime: "process",
        url: "http://127.0.0.1:9",
      },
    })),
    without: { place: "names the listener's own database", holder: "names the listener's own process" },
  },
  "POST /v2/listeners/{listener_id}/lease/end": { ...json(() => ({ epoch: 0 })), owner: noLease },
  "POST /v2/listeners/{listener_id}/poll": { ...json(() => ({ epoch: 0 })), owner: noLease },
  // What a report about others changes, which is nothing, is tried by tests/journeys/listeners.test.ts: it needs a lease.
  "POST /v2/listeners/{listener_id}/reports": {
    ...json((ids) => ({
      ...{ epoch: 0, number: 1 },
      held: [ids.deploymentId],
      ...{ deployments: [], revisions: [], instances: [], metrics: { until: null, items: [] } },
      ...{ events: { after: 0, upto: 0, items: [] }, logs: { after: 0, upto: 0, items: [] } },
    })),
    ...{ owner: noLease, refusal: 409 },
    without: Object.fromEntries(
      [
        ...["id", "deployment_id", "revision_id", "active_revision_id", "previous_revision_id", "run_id"],
        "tracing_key_id",
      ].map((name) => [name, "nobody has the lease here"]),
    ),
  },
  "POST /v2/listeners/{listener_id}/callers": {
    ...json(() => ({ api_key: null, authorization: null, tenant_id: null })),
    without: { tenant_id: "means nothing without a key, whose own rights count" },
  },
  "POST /v2/listeners/{listener_id}/revisions/{revision_id}/secrets": leased,
  "POST /v2/listeners/{listener_id}/revisions/{revision_id}/source": leased,
  "GET /v2/listeners/{listener_id}/revisions/{revision_id}/archive": {
    send: () => ({ query: { epoch: "0" } }),
    ...{ owner: noLease, refusal: 409 },
  },
  // Accounts
  "GET /v2/auth/platform-providers/{provider_id}": {
    owner: { status: 404, why: "it is the workspace's and not the platform's" },
  },
  "POST /v2/auth/providers": created((ids) => ({
    provider_id: ids.providerId,
    name: "mine",
    client_id: "x",
    client_secret: "y",
    auth_url: "http://127.0.0.1:9/authorize",
    token_url: "http://127.0.0.1:9/token",
  })),
  "POST /v2/auth/providers/mcp-discover": {
    ...created((ids) => ({
      provider_id: ids.providerId,
      name: "mine",
      mcp_server_url: "http://127.0.0.1:9/mcp",
    })),
    owner: exists,
  },
  "PATCH /v2/auth/providers/{provider_id}": json(() => ({ name: "renamed" })),
  "POST /v2/auth/authenticate": {
    ...json((ids) => ({
      provider: ids.providerId,
      agent_id: ids.agentId,
      user_id: ids.userId,
      token_id: ids.tokenId,
      scopes: [],
    })),
    free: ["agentId", "userId"],
  },
  "POST /v2/auth/callback/{provider_id}": {
    ...json((ids) => ({ state: ids.oauthState, code: "x" })),
    refusal: 400,
    owner: unreachable(502),
  },
  // Says only that the consent cannot come to an end, as for an id that names nothing.
  "GET /v2/auth/wait/{auth_id}": {
    send: () => ({ query: { timeout: "0" } }),
    outcome: "finds nothing",
  },
  "DELETE /v2/auth/providers/{provider_id}": { turn: 10 },
  "DELETE /v2/auth/agents/{agent_id}/connections/{connection_id}": { turn: -1 },
  "GET /v2/auth/tokens": lookUp((ids) => ({ provider_id: ids.providerId })),
  "DELETE /v2/auth/tokens": { ...lookUp((ids) => ({ provider_id: ids.providerId })), turn: 9 },
  "PATCH /v2/auth/tokens/{token_id}/metadata": json(() => ({ provider_account_label: "mine" })),
  "GET /v2/auth/tokens/exists": lookUp((ids) => ({ provider_id: ids.providerId })),
  "POST /v2/auth/tokens/exists/batch": search((ids) => ({ provider_ids: [ids.providerId] })),
  "POST /v2/auth/tokens/import": json((ids) => ({ provider_id: ids.providerId, access_token: "mine" })),
  // Names of agents are free: each workspace has its own agent of that name.
  "GET /v2/auth/agents/{agent_id}/connections": { outcome: "finds nothing" },
  "POST /v2/auth/agents/{agent_id}/connections": {
    ...json((ids) => ({ oauth_token_id: ids.tokenId })),
    free: ["agentId"],
  },
  "POST /v2/auth/agents/{agent_id}/providers/{provider_id}/tokens": {
    ...json(() => ({ access_token: "mine" })),
    free: ["agentId"],
  },
  "GET /v2/auth/token-events": lookUp((ids) => ({ provider_id: ids.providerId })),
};
