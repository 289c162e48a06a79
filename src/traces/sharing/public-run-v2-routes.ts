import { z } from "zod";
import { jsonText, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { runNotFound } from "../query/run-errors.ts";
import { readSelects, v2ColumnsOf, writeV2Run, writeV2Runs } from "../query/run-v2-view.ts";
import { type SharedTraces, sharedTrace } from "./shared-trace.ts";

const tag = "Sharing";
const open = { kind: "open" } as const;
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ share_token: id });
const runV2 = z.looseObject({ id: z.guid() });

/** A shared trace by the second version of the paths. */
export function publicRunV2Routes(traces: SharedTraces): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v2/public/{share_token}/runs/query",
        operationId: "query_shared_runs_v2",
        summary: "The runs of a shared trace, in the order of its tree",
        tag,
        access: open,
        params,
        body: z.looseObject({ selects: z.array(z.string()).max(200).nullish() }),
        responses: { 200: { description: "The runs", schema: z.object({ items: z.array(runV2) }) } },
        errors: [404, 413],
      },
      async ({ params, body }) => {
        const names = readSelects(body.selects);
        const { rows } = await sharedTrace(traces, params.share_token, v2ColumnsOf(names));
        return jsonText(200, `{"items":${writeV2Runs(rows, names)}}`);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v2/public/{share_token}/run/{run_id}",
        operationId: "get_shared_run_v2",
        summary: "One run of a shared trace",
        tag,
        access: open,
        params: params.extend({ run_id: id }),
        query: z.object({
          selects: queryList(z.string()).optional(),
          start_time: z.string().optional().describe("A hint; the run is found without it."),
        }),
        responses: { 200: { description: "The run", schema: runV2 } },
        errors: [404],
      },
      async ({ params, query }) => {
        const names = readSelects(query.selects);
        const { rows } = await sharedTrace(traces, params.share_token, v2ColumnsOf(names), [params.run_id]);
        if (!rows[0]) throw runNotFound(params.run_id);
        return jsonText(200, writeV2Run(rows[0], names));
      },
    ),
  ];
}
