import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { RunReading } from "../storage/run-storage.ts";
import { reads, writes } from "../wire/access.ts";
import { note, sharedRun, unsharedRun } from "./run-share.ts";
import type { ShareService } from "./share-service.ts";
import { traceOfRun } from "./trace-of-run.ts";

const tag = "Sharing";
const id = z.guid().transform((text) => text.toLowerCase());
const runParams = z.object({ run_id: id });
const runShare = z.object({ run_id: z.guid(), share_token: z.guid() });

export function runShareRoutes({ shares, runs }: { shares: ShareService; runs: RunReading }): Route[] {
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
        const traceId = await traceOfRun(runs, caller.workspaceId, params.run_id);
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
        const traceId = await traceOfRun(runs, caller.workspaceId, params.run_id);
        const found = await shares.find(caller.workspaceId, "trace", traceId);
        return json(200, found ? { run_id: params.run_id, share_token: found.token } : null);
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/runs/{run_id}/share",
        operationId: "unshare_run",
        summary: "Withdraw the link to a run",
        tag,
        access: writes,
        audit: unsharedRun,
        params: runParams,
        responses: { 204: { description: "The token no longer works" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await shares.unshare(
          caller.workspaceId,
          "trace",
          await traceOfRun(runs, caller.workspaceId, params.run_id),
        );
        return noContent();
      },
    ),
  ];
}
