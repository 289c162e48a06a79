import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { notInPlace } from "../query/run-errors.ts";
import type { RunReading } from "../storage/run-storage.ts";
import { writes } from "../wire/access.ts";
import { note, sharedRun, unsharedRun } from "./run-share.ts";
import type { ShareService } from "./share-service.ts";
import { findRun, traceOfRun } from "./trace-of-run.ts";

const tag = "Sharing";
const id = z.guid().transform((text) => text.toLowerCase());
const runParams = z.object({ run_id: id });

export function runShareV2Routes({ shares, runs }: { shares: ShareService; runs: RunReading }): Route[] {
  return [
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
        const traceId = await traceOfRun(runs, caller.workspaceId, params.run_id, body);
        const { token } = await shares.share(caller.workspaceId, "trace", traceId);
        return json(200, { share_token: token });
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v2/runs/{run_id}/share",
        operationId: "unshare_run_v2",
        summary: "Withdraw the link to a trace, if there is one",
        tag,
        access: writes,
        audit: unsharedRun,
        params: runParams,
        body: z.looseObject({ session_id: id.nullish() }).nullish(),
        responses: { 204: { description: "No token works any more" } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        if (body?.session_id) {
          // One that is gone is in no project any more.
          const run = await findRun(runs, caller.workspaceId, params.run_id);
          if (run && run.session_id !== body.session_id) throw notInPlace(params.run_id, "project");
        }
        await shares.unshare(caller.workspaceId, "trace", params.run_id);
        return noContent();
      },
    ),
  ];
}
