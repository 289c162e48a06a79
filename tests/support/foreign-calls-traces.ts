import {
  created,
  exists,
  type ForeignCalls,
  json,
  lookUp,
  type Sent,
  search,
  unreachable,
} from "./foreign-call.ts";
import type { TenantIds } from "./tenant-resources.ts";
import { dottedTime, multipartBody } from "./traces-app.ts";

const [window_start, window_end] = ["2026-10-01T00:00:00.000000Z", "2026-10-08T00:00:00.000000Z"];
const spanOf = (ids: TenantIds) => ({
  id: ids.traceRunId,
  trace_id: ids.traceRunId,
  dotted_order: `${dottedTime(window_start)}${ids.traceRunId}`,
  session_id: ids.projectId,
  name: "mine",
  run_type: "chain",
  start_time: window_start,
  inputs: {},
});
const multipart = (parts: Parameters<typeof multipartBody>[0]): Sent => ({
  bytes: { type: "multipart/form-data; boundary=b-1", content: multipartBody(parts, "b-1") },
});
const exampleParts = ({ exampleId }: TenantIds): Sent =>
  multipart([
    { name: exampleId, value: {} },
    { name: `${exampleId}.inputs`, value: {} },
    { name: `${exampleId}.attachment.file`, bytes: Buffer.from("mine"), type: "text/plain" },
  ]);
const runFilter = (ids: TenantIds) => ({
  session: [ids.projectId],
  id: [ids.traceRunId],
  trace: ids.traceRunId,
  parent_run: ids.traceRunId,
  reference_example: [ids.exampleId],
});

/** Traces, feedback, datasets and exports. */
export const traceCalls: ForeignCalls = {
  // Traces
  "POST /api/v1/runs": created(spanOf),
  "POST /api/v1/runs/batch": created((ids) => ({ post: [spanOf(ids)] })),
  "POST /api/v1/runs/multipart": {
    send: (ids) =>
      multipart([
        { name: `post.${ids.traceRunId}`, value: spanOf(ids) },
        { name: `attachment.${ids.traceRunId}.file`, bytes: Buffer.from("mine"), type: "text/plain" },
      ]),
    outcome: "makes its own",
    owner: exists,
  },
  "GET /api/v1/sessions/{session_id}/filter-values": { outcome: "finds nothing" },
  "POST /api/v1/sessions/{session_id}/saved-views": json(() => ({ name: "another" })),
  "PATCH /api/v1/sessions/{session_id}/saved-views/{view_id}": json(() => ({ name: "renamed" })),
  "GET /api/v1/runs/{run_id}/attachments": { outcome: "finds nothing" },
  "GET /api/v1/runs/{run_id}/attachments/{name}": { free: ["attachmentName"] },
  "PATCH /api/v1/runs/{run_id}": created((ids) => ({ ...spanOf(ids), outputs: { by: "other" } })),
  "POST /api/v1/runs/query": search(runFilter),
  "POST /api/v1/runs/stats": search(runFilter),
  "POST /api/v2/runs/query": {
    ...search((ids) => ({
      project_ids: [ids.projectId],
      ids: [ids.traceRunId],
      trace_id: ids.traceRunId,
      reference_examples: [ids.exampleId],
    })),
    without: { reference_dataset_id: "is instead of project_ids" },
  },
  "GET /api/v2/runs/{run_id}": { send: (ids) => ({ query: { project_id: ids.projectId } }) },
  "GET /api/v2/traces/{trace_id}/runs": {
    send: (ids) => ({
      query: { project_id: ids.projectId, min_start_time: window_start, max_start_time: window_end },
    }),
    outcome: "finds nothing",
  },
  "POST /api/v2/traces/query": search((ids) => ({
    project_id: ids.projectId,
    trace_ids: [ids.traceRunId],
    selects: ["NAME", "INPUTS"],
  })),
  "GET /api/v2/runs/{run_id}/url": {
    send: (ids) => ({ query: { project_id: ids.projectId, trace_id: ids.traceRunId } }),
  },
  "POST /api/v2/threads/query": search((ids) => ({
    project_id: ids.projectId,
    min_start_time: window_start,
  })),
  "GET /api/v2/threads/{thread_id}/traces": lookUp((ids) => ({ project_id: ids.projectId })),
  "GET /api/v2/threads/{thread_id}/stats": lookUp((ids) => ({
    session_id: ids.projectId,
    selects: "TURNS",
  })),
  "POST /api/v1/runs/group": search((ids) => ({ session_id: ids.projectId, group_by: "conversation" })),
  "PUT /api/v1/runs/{run_id}/share": {
    ...json((ids) => ({ share_token: ids.shareToken })),
    // It is shared already, and keeps the token it has.
    free: ["shareToken"],
  },
  "POST /api/v2/runs/{run_id}/share": json((ids) => ({
    session_id: ids.projectId,
    trace_id: ids.traceRunId,
  })),
  "DELETE /api/v2/runs/{run_id}/share": search((ids) => ({ session_id: ids.projectId })),
  "POST /api/v1/sessions": created((ids) => ({
    id: ids.projectId,
    name: `made-${crypto.randomUUID()}`,
    default_dataset_id: ids.datasetId,
    reference_dataset_id: ids.datasetId,
  })),
  "GET /api/v1/sessions": lookUp((ids) => ({ id: ids.projectId, reference_dataset: ids.datasetId })),
  "PATCH /api/v1/sessions/{session_id}": {
    ...json((ids) => ({
      description: "other",
      default_dataset_id: ids.datasetId,
      reference_dataset_id: ids.datasetId,
    })),
    // A reference is a note; it is followed in the workspace of the project alone.
    free: ["datasetId"],
  },
  "POST /api/v1/runs/delete": {
    ...json((ids) => ({ session_id: ids.projectId, trace_ids: [ids.traceRunId] })),
    free: ["traceRunId"],
    turn: 9,
  },
  "POST /api/v1/feedback": created((ids) => ({
    key: "other",
    run_id: ids.traceRunId,
    session_id: ids.projectId,
    trace_id: ids.traceRunId,
  })),
  "GET /api/v1/feedback": lookUp((ids) => ({ run: ids.traceRunId, session: ids.projectId })),
  "POST /api/v1/feedback/tokens": created((ids) => ({
    run_id: ids.traceRunId,
    feedback_key: "other",
    id: ids.feedbackId,
    expires_in: { hours: 1 },
  })),
  "GET /api/v1/feedback/tokens": lookUp((ids) => ({ run_id: ids.traceRunId })),
  "PATCH /api/v1/feedback/{feedback_id}": json(() => ({ score: 0 })),
  "POST /api/v1/datasets": created((ids) => ({ id: ids.datasetId, name: `made-${crypto.randomUUID()}` })),
  "GET /api/v1/datasets": lookUp((ids) => ({ id: ids.datasetId })),
  "PATCH /api/v1/datasets/{dataset_id}": json(() => ({ description: "other" })),
  "POST /api/v1/platform/datasets/{dataset_id}/examples": {
    free: ["exampleId"],
    owner: exists,
    send: exampleParts,
  },
  "PATCH /api/v1/platform/datasets/{dataset_id}/examples": {
    send: exampleParts,
  },
  "POST /api/v1/platform/datasets/examples/delete": {
    ...search((ids) => ({ example_ids: [ids.exampleId] })),
    turn: 8,
  },
  "DELETE /api/v1/examples/{example_id}": { turn: 7 },
  "DELETE /api/v1/datasets/{dataset_id}": { turn: 9 },
  "DELETE /api/v1/sessions/{session_id}": { turn: 10 },
  "POST /api/v1/examples": created((ids) => ({
    id: ids.exampleId,
    dataset_id: ids.datasetId,
    source_run_id: ids.traceRunId,
  })),
  "POST /api/v1/examples/bulk": created((ids) => [
    { id: ids.exampleId, dataset_id: ids.datasetId, source_run_id: ids.traceRunId, use_source_run_io: true },
  ]),
  "GET /api/v1/datasets/{dataset_id}/version": { send: () => ({ query: { tag: "latest" } }) },
  "GET /api/v1/datasets/{dataset_id}/versions/diff": {
    send: () => ({ query: { from_version: "latest", to_version: "latest" } }),
  },
  "GET /api/v1/datasets/{dataset_id}/share": { owner: { status: 404, why: "it is not shared" } },
  "GET /api/v1/datasets/{dataset_id}/openai_ft": { owner: { status: 422, why: "its examples are no chats" } },
  "PUT /api/v1/datasets/{dataset_id}/share": json(() => ({})),
  "GET /api/v1/datasets/{dataset_id}/comparison": {
    send: (ids) => ({
      query: { experiment: ids.experimentId, comparative_experiment: ids.comparisonId },
    }),
  },
  "GET /api/v1/datasets/{dataset_id}/comparative": lookUp((ids) => ({ id: ids.comparisonId })),
  "POST /api/v1/datasets/comparative": created((ids) => ({
    id: ids.comparisonId,
    name: "other",
    experiment_ids: [ids.experimentId],
    reference_dataset_id: ids.datasetId,
  })),
  "POST /api/v2/datasets/{dataset_id}/experiment-runs": search((ids) => ({
    experiment_ids: [ids.experimentId],
    example_ids: [ids.exampleId],
    comparative_experiment_id: ids.comparisonId,
  })),
  "POST /api/v1/datasets/{dataset_id}/runs": search((ids) => ({
    session_ids: [ids.experimentId],
    comparative_experiment_id: ids.comparisonId,
  })),
  "PUT /api/v1/datasets/{dataset_id}/tags": json(() => ({ as_of: "latest", tag: "other" })),
  "PUT /api/v1/datasets/{dataset_id}/splits": {
    ...json((ids) => ({ split_name: "other", examples: [ids.exampleId] })),
    free: ["exampleId"],
  },
  "DELETE /api/v1/examples": { ...lookUp((ids) => ({ example_ids: ids.exampleId })), turn: 8 },
  "PATCH /api/v1/examples/bulk": json((ids) => [{ id: ids.exampleId, inputs: { by: "other" } }]),
  "GET /api/v1/examples": lookUp((ids) => ({ dataset: ids.datasetId, id: ids.exampleId })),
  // The dataset only decides what a tag means.
  "GET /api/v1/examples/{example_id}": {
    send: (ids) => ({ query: { dataset: ids.datasetId } }),
    free: ["datasetId"],
  },
  "GET /api/v1/examples/{example_id}/attachments/{name}": { free: ["attachmentName"] },
  "PATCH /api/v1/examples/{example_id}": json(() => ({ inputs: { by: "other" } })),
  // Exports
  "PATCH /api/v1/bulk-exports/destinations/{destination_id}": {
    ...json(() => ({ credentials: { access_key_id: "x", secret_access_key: "y" } })),
    owner: unreachable(400),
  },
  "DELETE /api/v1/bulk-exports/destinations/{destination_id}": {
    owner: { status: 409, why: "exports use it" },
  },
  "GET /api/v1/bulk-exports/runs": lookUp((ids) => ({ source_bulk_export_id: ids.exportId })),
  "GET /api/v1/bulk-exports": lookUp((ids) => ({ source_bulk_export_id: ids.exportId })),
  "POST /api/v1/bulk-exports/preview": json((ids) => ({
    session_id: ids.projectId,
    start_time: window_start,
    end_time: window_end,
  })),
  "POST /api/v1/bulk-exports": json((ids) => ({
    bulk_export_destination_id: ids.destinationId,
    session_id: ids.projectId,
    start_time: window_start,
    end_time: window_end,
  })),
  "GET /api/v1/bulk-exports/{bulk_export_id}/files": {
    send: (ids) => ({ query: { run_id: ids.exportRunId } }),
  },
  // Its own test asks for a file that is there: tests/journeys/bulk-export-file-links.test.ts.
  "POST /api/v1/bulk-exports/{bulk_export_id}/runs/{run_id}/link": {
    ...json(() => ({ part: 0 })),
    owner: { status: 404, why: "it has written no file" },
  },
  "PATCH /api/v1/bulk-exports/{bulk_export_id}": json(() => ({ status: "CANCELLED" })),
};
