import type { ForeignCalls, IdName } from "./foreign-call.ts";
import { agentCalls } from "./foreign-calls-agents.ts";
import { annotationCalls } from "./foreign-calls-annotation.ts";
import { platformCalls } from "./foreign-calls-platform.ts";
import { traceCalls } from "./foreign-calls-traces.ts";

/** Every route that takes an id in its body, in its query, or needs a body to get as far as its path's ids. */
export const foreignCalls: ForeignCalls = {
  ...platformCalls,
  ...agentCalls,
  ...traceCalls,
  ...annotationCalls,
};

/** Which id a path parameter names, below which path; the longest path that fits counts. */
export const parameterIds: Record<string, Record<string, IdName>> = {
  "/v2/api-keys": { key_id: "keyId" },
  "/v2/workspaces": { workspace_id: "workspaceId" },
  "/v2/organizations": { organization_id: "organizationId" },
  "/v2/members": { user_id: "userId" },
  "/v2/auth/sessions": { session_id: "sessionId" },
  "/v2/deployments": { deployment_id: "deploymentId", revision_id: "revisionId", domain: "domain" },
  "/v1/projects": { deployment_id: "deploymentId", revision_id: "revisionId" },
  "/v2/uploads": { deployment_id: "deploymentId", file: "uploadFile" },
  "/o/{tenant_id}/host": { tenant_id: "workspaceId", deployment_id: "deploymentId" },
  "/d": { slug: "slug" },
  "/internal/artifacts": { instance_id: "instanceId" },
  "/internal/builds": { build_id: "instanceId" },
  "/v2/deployment-pages": { slug: "slug" },
  "/v1/integrations": { integration_id: "integrationId" },
  "/v2/integrations": { integration_id: "integrationId" },
  "/v2/alerts": { alert_id: "alertId" },
  "/v2/listeners": { listener_id: "listenerId", revision_id: "revisionId" },
  "/v2/auth": {
    provider_id: "providerId",
    auth_id: "authorizationId",
    token_id: "tokenId",
    agent_id: "agentId",
    connection_id: "connectionId",
    event_id: "tokenEventId",
  },
  "/v2/integrations/github/picker-sessions": { session_id: "sessionId" },
  "/v2/integrations/forge-github/picker-sessions": { session_id: "sessionId" },
  "/assistants": { assistant_id: "assistantId" },
  "/a2a": { assistant_id: "assistantId" },
  "/ui": { assistant_id: "assistantId" },
  "/threads": { thread_id: "threadId", run_id: "runId", checkpoint_id: "checkpointId" },
  "/runs": { run_id: "runId", cron_id: "cronId" },
  "/api/threads": { thread_id: "chatThreadId", run_id: "chatRunId" },
  "/api/v1/runs": { run_id: "traceRunId", name: "attachmentName" },
  "/api/v1/traces": { trace_id: "traceRunId" },
  "/api/v1/sessions": { session_id: "projectId", view_id: "savedViewId" },
  "/api/v2/runs": { run_id: "traceRunId" },
  "/api/v2/traces": { trace_id: "traceRunId" },
  "/api/v2/threads": { thread_id: "traceThreadId" },
  "/api/v1/feedback": { feedback_id: "feedbackId" },
  "/api/v1/datasets": { dataset_id: "datasetId", comparative_experiment_id: "comparisonId" },
  "/api/v2/datasets": { dataset_id: "datasetId" },
  "/api/v1/platform/datasets": { dataset_id: "datasetId" },
  "/api/v1/examples": { example_id: "exampleId", name: "attachmentName" },
  "/api/v1/annotation-queues": { queue_id: "queueId", queue_run_id: "queueItemId", item_id: "queueItemId" },
  "/api/v1/platform/annotation-queues": { queue_id: "queueId", item_id: "queueItemId" },
  "/api/v1/bulk-exports": {
    destination_id: "destinationId",
    bulk_export_id: "exportId",
    run_id: "exportRunId",
  },
};
