import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import type { BoundedRead } from "../query/bounded-read.ts";
import { notInPlace, type RunField, runNotFound } from "../query/run-query.ts";
import { findRuns } from "../query/run-query-store.ts";
import { reads, writes } from "../wire/access.ts";
import type { ShareService } from "./share-service.ts";

const tag = "Sharing";
const id = z.guid().transform((text) => text.toLowerCase());
const runParams = z.object({ run_id: id });
const datasetParams = z.object({ dataset_id: id });
const runShare = z.object({ run_id: z.guid(), share_token: z.guid() });
const datasetShare = z.object({ dataset_id: z.guid(), share_token: z.guid() });
type Named = { session_id?: string | null | undefined; trace_id?: string | null | undefined };
const note =
  "Whoever has the token may read it, without a key, until it is taken back. A run is shared with its whole trace.";
const sharedRun = { action: "traces.shared", target: { kind: "run", id: "params.run_id" } } as const;
const unsharedRun = { action: "traces.unshared", target: { kind: "run", id: "params.run_id" } } as const;

export function shareRoutes(options: {
  shares: ShareService;
  datasets: DatasetService;
  read: BoundedRead;
}): Route[] {
  const { shares, datasets, read } = options;

  async function find(workspaceId: string, runId: string) {
    const query = { workspaceId, ids: [runId] };
    const fields = new Set<RunField>(["id", "trace_id", "session_id"]);
    const found = await read((sql) => findRuns(sql, query, { limit: 1, order: "desc" }, fields));
    return found.rows[0];
  }

  /** The trace a run is in, which is the one that was named with it, if one was. */
  async function traceOf(workspaceId: string, runId: string, named: Named = {}): Promise<string> {
    const run = await find(workspaceId, runId);
    if (!run?.trace_id) throw runNotFound(runId);
    if (named.session_id && named.session_id !== run.session_id) throw notInPlace(runId, "project");
    if (named.trace_id && named.trace_id !== run.trace_id) throw notInPlace(runId, "trace");
    return run.trace_id;
  }

  return [
    route(
      {
        method: "put",
        path: "/api/v1/runs/{run_id}/share",
        operationId: "share_run",
        summary: "Share a run",
        description: note,
        tag,
        access: writes,
        audit: sharedRun,
        params: runParams,
        body: z.looseObject({ share_token: z.guid().nullish() }),
        responses: { 200: { description: "The token", schema: runShare } },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => {
        const traceId = await traceOf(caller.workspaceId, params.run_id);
        const wished = body.share_token ?? undefined;
        const { token } = await shares.share(caller.workspaceId, "trace", traceId, wished);
        return json(200, { run_id: params.run_id, share_token: token });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/runs/{run_id}/share",
        operationId: "get_run_share",
        summary: "Whether a run is shared",
        tag,
        access: reads,
        params: runParams,
        responses: { 200: { description: "The token; null when it is not", schema: runShare.nullable() } },
        errors: [404],
      },
      async ({ caller, params }) => {
        const traceId = await traceOf(caller.workspaceId, params.run_id);
        const found = await shares.find(caller.workspaceId, "trace", traceId);
        return json(200, found ? { run_id: params.run_id, share_token: found.token } : null);
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/runs/{run_id}/share",
        operationId: "unshare_run",
        summary: "Take back the link to a run",
        tag,
        access: writes,
        audit: unsharedRun,
        params: runParams,
        responses: { 204: { description: "Nobody reads it by the token any more" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await shares.unshare(caller.workspaceId, "trace", await traceOf(caller.workspaceId, params.run_id));
        return noContent();
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v2/runs/{run_id}/share",
        operationId: "share_run_v2",
        summary: "Share a run",
        description: note,
        tag,
        access: writes,
        audit: sharedRun,
        params: runParams,
        body: z.looseObject({ session_id: id.nullish(), trace_id: id.nullish() }),
        responses: { 200: { description: "The token", schema: z.object({ share_token: z.guid() }) } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const traceId = await traceOf(caller.workspaceId, params.run_id, body);
        const { token } = await shares.share(caller.workspaceId, "trace", traceId);
        return json(200, { share_token: token });
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v2/runs/{run_id}/share",
        operationId: "unshare_run_v2",
        summary: "Take back the link to a trace, whether there was one or not",
        tag,
        access: writes,
        audit: unsharedRun,
        params: runParams,
        body: z.looseObject({ session_id: id.nullish() }).nullish(),
        responses: { 204: { description: "Nobody reads it by a token any more" } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        if (body?.session_id) {
          // One that is gone is in no project any more.
          const run = await find(caller.workspaceId, params.run_id);
          if (run && run.session_id !== body.session_id) throw notInPlace(params.run_id, "project");
        }
        await shares.unshare(caller.workspaceId, "trace", params.run_id);
        return noContent();
      },
    ),
    route(
      {
        method: "put",
        path: "/api/v1/datasets/{dataset_id}/share",
        operationId: "share_dataset",
        summary: "Share a dataset with its examples",
        description: "Whoever has the token may read it, without a key, until it is taken back.",
        tag,
        access: writes,
        audit: { action: "dataset.shared", target: { kind: "dataset", id: "params.dataset_id" } },
        params: datasetParams,
        body: z.looseObject({}).nullish(),
        responses: { 200: { description: "The token", schema: datasetShare } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await datasets.get(caller.workspaceId, params.dataset_id);
        const { token } = await shares.share(caller.workspaceId, "dataset", params.dataset_id);
        return json(200, { dataset_id: params.dataset_id, share_token: token });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/share",
        operationId: "get_dataset_share",
        summary: "The token a dataset is shared under",
        tag,
        access: reads,
        params: datasetParams,
        responses: { 200: { description: "The token", schema: datasetShare } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await datasets.get(caller.workspaceId, params.dataset_id);
        const found = await shares.find(caller.workspaceId, "dataset", params.dataset_id);
        if (!found) throw datasetNotShared(params.dataset_id);
        return json(200, { dataset_id: params.dataset_id, share_token: found.token });
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/datasets/{dataset_id}/share",
        operationId: "unshare_dataset",
        summary: "Take back the link to a dataset",
        tag,
        access: writes,
        audit: { action: "dataset.unshared", target: { kind: "dataset", id: "params.dataset_id" } },
        params: datasetParams,
        responses: { 204: { description: "Nobody reads it by the token any more" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await datasets.get(caller.workspaceId, params.dataset_id);
        await shares.unshare(caller.workspaceId, "dataset", params.dataset_id);
        return noContent();
      },
    ),
  ];
}

function datasetNotShared(id: string): AppError {
  return new AppError({
    code: "traces.dataset_not_shared",
    kind: "not_found",
    message: `Dataset ${id} is not shared. Share it with PUT /api/v1/datasets/${id}/share.`,
  });
}
