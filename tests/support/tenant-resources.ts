import { randomUUID } from "node:crypto";
import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { waitUntil } from "./components/wait-until.ts";
import { insertInstance } from "./deployment-rows.ts";
import { dottedTime, multipartBody, type SamplePart } from "./traces-app.ts";

/** As one workspace's administrator; a text is sent as it is. Throws for every answer that is no success. */
export type TenantCall = <Body>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Body>;

export type Tenant = {
  workspaceId: string;
  organizationId: string;
  keyId: string;
  userId: string;
  /** A person's session in a browser; its cookie. */
  sessionId: string;
  /** In every name and value of the workspace, and nowhere else: an answer that contains it leaked from there. */
  mark: string;
};

type Made = { id: string };

/**
 * One of everything that has an id, in one workspace, made through the API where it can be. What needs another
 * server to be made (a bucket, a worker that runs) is put into its table.
 */
export async function createTenantResources(call: TenantCall, database: Database, tenant: Tenant) {
  const { mark } = tenant;
  return {
    ...tenant,
    ...(await deploymentResources(call, database, mark)),
    ...(await accountResources(call, mark)),
    ...(await agentResources(call, mark)),
    ...(await chatResources(call, mark)),
    ...(await traceResources(call, database, tenant)),
  };
}

export type TenantIds = Awaited<ReturnType<typeof createTenantResources>>;

async function deploymentResources(call: TenantCall, database: Database, mark: string) {
  const host = "http://127.0.0.1:9";
  const integration = await call<Made>("POST", "/v1/integrations/github", { name: mark, host, token: mark });
  const listener = await call<Made>("POST", "/v2/listeners", {
    compute_type: "k8s",
    compute_id: mark,
    compute_config: {},
  });
  const deployment = await call<Made & { slug: string; latest_revision_id: string }>(
    "POST",
    "/v2/deployments",
    {
      name: mark,
      source: "github",
      source_config: {
        repo_url: `${host}/x.git`,
        integration_id: integration.id,
        listener_id: listener.id,
      },
      source_revision_config: { repo_ref: "main" },
      secrets: [{ name: "MARK", value: mark }],
    },
  );
  const upload = await call<{ object_path: string; upload_url: string }>(
    "POST",
    `/v2/deployments/${deployment.id}/upload-url`,
  );
  const domain = `agent-${randomUUID()}.example.com`;
  await call("POST", `/v2/deployments/${deployment.id}/domains`, { domain });
  // Not looked at by the worker, which writes down when it did.
  const alert = await call<Made>("POST", "/v2/alerts", {
    enabled: false,
    ...{ name: mark, kind: "no_traffic", scope: "deployment", scope_id: deployment.id },
    webhook_url: `${host}/${mark}`,
  });
  const instanceId = await insertInstance(database.sql, {
    ...{ deploymentId: deployment.id, revisionId: deployment.latest_revision_id, state: "exited" },
  });
  return {
    alertId: alert.id,
    domain,
    repositoryUrl: `${host}/x.git`,
    deploymentId: deployment.id,
    slug: deployment.slug,
    revisionId: deployment.latest_revision_id,
    instanceId,
    uploadFile: upload.object_path.split("/").at(-1)!,
    uploadPath: upload.object_path,
    integrationId: integration.id,
    listenerId: listener.id,
  };
}

async function accountResources(call: TenantCall, mark: string) {
  const providerId = `provider-${randomUUID()}`;
  const at = "http://127.0.0.1:9";
  await call("POST", "/v2/auth/providers", {
    provider_id: providerId,
    name: mark,
    client_id: "x",
    client_secret: mark,
    auth_url: `${at}/authorize`,
    token_url: `${at}/token`,
  });
  const agentId = `agent-${randomUUID()}`;
  const token = await call<{ token_id: string }>("POST", "/v2/auth/tokens/import", {
    provider_id: providerId,
    access_token: mark,
    metadata: { mark },
  });
  const connection = await call<Made>("POST", `/v2/auth/agents/${agentId}/connections`, {
    oauth_token_id: token.token_id,
  });
  const [event] = await call<Made[]>("GET", "/v2/auth/token-events");
  const authorization = await call<{ auth_id: string; url: string }>("POST", "/v2/auth/authenticate", {
    provider: providerId,
    scopes: ["more"],
    force_new: true,
  });
  return {
    providerId,
    agentId,
    tokenId: token.token_id,
    connectionId: connection.id,
    tokenEventId: event!.id,
    authorizationId: authorization.auth_id,
    oauthState: new URL(authorization.url).searchParams.get("state")!,
  };
}

async function agentResources(call: TenantCall, mark: string) {
  const metadata = { mark };
  const assistant = await call<{ assistant_id: string }>("POST", "/assistants", {
    graph_id: "echo",
    name: mark,
    metadata,
  });
  const messages = [{ role: "user", content: mark }];
  const thread = await call<{ thread_id: string }>("POST", "/threads", {
    metadata: { ...metadata, graph_id: "echo" },
    supersteps: [{ updates: [{ values: { messages }, as_node: "__input__" }] }],
  });
  const state = await call<{ checkpoint: { checkpoint_id: string } }>(
    "GET",
    `/threads/${thread.thread_id}/state`,
  );
  const start = { assistant_id: assistant.assistant_id, input: { messages }, metadata };
  const run = await call<{ run_id: string }>("POST", `/threads/${thread.thread_id}/runs`, {
    ...start,
    after_seconds: 3_600,
  });
  const cron = await call<{ cron_id: string }>("POST", "/runs/crons", {
    ...start,
    schedule: "0 0 1 1 *",
  });
  await call("PUT", "/store/items", { namespace: ["security"], key: "item", value: metadata });
  return {
    assistantId: assistant.assistant_id,
    threadId: thread.thread_id,
    checkpointId: state.checkpoint.checkpoint_id,
    runId: run.run_id,
    cronId: cron.cron_id,
  };
}

async function chatResources(call: TenantCall, mark: string) {
  const chatThreadId = randomUUID();
  const input = { messages: [{ role: "user", content: mark }] };
  const started = await call<{ result: { run_id: string } }>(
    "POST",
    `/api/threads/${chatThreadId}/commands`,
    {
      id: 1,
      method: "run.start",
      params: { assistant_id: "echo", input },
    },
  );
  // While it runs, calls that would change the thread are refused.
  const idle = async () => {
    const threads = await call<{ thread_id: string; status: string }[]>("GET", "/api/threads");
    return threads.some(({ thread_id, status }) => thread_id === chatThreadId && status === "idle");
  };
  await waitUntil(idle, { what: "the end of the chat's run", timeoutMs: 30_000 });
  return { chatThreadId, chatRunId: started.result.run_id };
}

async function traceResources(call: TenantCall, database: Database, { workspaceId, mark }: Tenant) {
  const metadata = { mark };
  const project = await call<Made>("POST", "/api/v1/sessions", {
    name: `${mark} traces`,
    extra: { metadata },
  });
  const traceRunId = randomUUID();
  const traceThreadId = `thread-${randomUUID()}`;
  const start_time = "2026-10-05T10:00:00.000000Z";
  const span = {
    id: traceRunId,
    trace_id: traceRunId,
    dotted_order: `${dottedTime(start_time)}${traceRunId}`,
    name: mark,
    run_type: "chain",
    start_time,
    inputs: { mark },
    extra: { metadata: { thread_id: traceThreadId } },
    session_id: project.id,
  };
  const attachmentName = "file";
  await sendParts(call, "/api/v1/runs/multipart", [
    { name: `post.${traceRunId}`, value: span },
    { name: `attachment.${traceRunId}.${attachmentName}`, bytes: Buffer.from(mark), type: "text/plain" },
  ]);
  const feedback = await call<Made>("POST", "/api/v1/feedback", {
    run_id: traceRunId,
    key: "mark",
    comment: mark,
  });
  const dataset = await call<Made>("POST", "/api/v1/datasets", { name: mark });
  const exampleId = randomUUID();
  await sendParts(call, `/api/v1/platform/datasets/${dataset.id}/examples`, [
    { name: exampleId, value: {} },
    { name: `${exampleId}.inputs`, value: { mark } },
    { name: `${exampleId}.attachment.${attachmentName}`, bytes: Buffer.from(mark), type: "text/plain" },
  ]);
  const share = await call<{ share_token: string }>("PUT", `/api/v1/runs/${traceRunId}/share`, {});
  const view = await call<Made>("POST", `/api/v1/sessions/${project.id}/saved-views`, { name: mark });
  return {
    projectId: project.id,
    savedViewId: view.id,
    traceRunId,
    traceThreadId,
    shareToken: share.share_token,
    feedbackId: feedback.id,
    datasetId: dataset.id,
    exampleId,
    attachmentName,
    ...(await reviewResources(call, { mark, traceRunId, datasetId: dataset.id })),
    ...(await exportResources(call, database, { workspaceId, mark, projectId: project.id })),
  };
}

/** An experiment on the dataset, a comparison of it, and a queue with the run in it. */
async function reviewResources(
  call: TenantCall,
  { mark, traceRunId, datasetId }: { mark: string; traceRunId: string; datasetId: string },
) {
  const experiment = await call<Made>("POST", "/api/v1/sessions", {
    name: `${mark} experiment`,
    reference_dataset_id: datasetId,
  });
  const comparison = await call<Made>("POST", "/api/v1/datasets/comparative", {
    name: mark,
    experiment_ids: [experiment.id],
  });
  const queue = await call<Made>("POST", "/api/v1/annotation-queues", { name: mark, description: mark });
  const [item] = await call<Made[]>("POST", `/api/v1/annotation-queues/${queue.id}/runs`, [traceRunId]);
  return {
    experimentId: experiment.id,
    comparisonId: comparison.id,
    queueId: queue.id,
    queueItemId: item!.id,
  };
}

function sendParts(call: TenantCall, path: string, parts: readonly SamplePart[]) {
  const boundary = `b-${randomUUID()}`;
  return call("POST", path, multipartBody(parts, boundary).toString(), {
    "content-type": `multipart/form-data; boundary=${boundary}`,
  });
}

async function exportResources(
  call: TenantCall,
  database: Database,
  { workspaceId, mark, projectId }: { workspaceId: string; mark: string; projectId: string },
) {
  const [destinationId, exportRunId] = [randomUUID(), randomUUID()];
  const config = JSON.stringify({
    bucket_name: mark,
    prefix: "",
    region: "us-east-1",
    endpoint_url: "http://127.0.0.1:9",
    include_bucket_in_prefix: false,
    s3_additional_kwargs: {},
    config_kwargs_s3: {},
    request_checksum_calculation: "when_required",
  });
  await raw`insert into bulk_export_destinations
      (id, workspace_id, destination_type, display_name, config, created_at, updated_at)
    values (${destinationId}, ${workspaceId}, 's3', ${mark}, ${config}::jsonb, now(), now())`.execute(
    database.sql,
  );
  const made = await call<Made>("POST", "/api/v1/bulk-exports", {
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    // Of a time to come, so that it waits.
    start_time: "2126-10-01T00:00:00Z",
    interval_hours: 24,
  });
  await raw`insert into bulk_export_runs
      (id, bulk_export_id, workspace_id, session_id, start_time, end_time, status, export_path, created_at, updated_at)
    values (${exportRunId}, ${made.id}, ${workspaceId}, ${projectId}, '2026-10-01', '2026-10-02', 'CREATED',
      ${mark}, now(), now())`.execute(database.sql);
  return { destinationId, exportId: made.id, exportRunId };
}
