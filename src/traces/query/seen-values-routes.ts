import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import type { RunReading } from "../storage/run-storage.ts";
import { reads } from "../wire/access.ts";
import { summarize } from "./seen-values.ts";

const texts = z.array(z.string());
const seen = z
  .object({
    names: texts,
    run_types: texts,
    tags: texts,
    metadata: z.record(z.string(), texts).describe("Values by key."),
    feedback_keys: texts,
  })
  .meta({ id: "SeenFilterValues" });

export function seenValuesRoutes({ runs }: { runs: RunReading }): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/sessions/{session_id}/filter-values",
        operationId: "listSeenFilterValues",
        summary: "Values that filters of a project can use",
        description:
          "Names, types, tags, metadata and feedback keys of its newest runs, most frequent first.",
        tag: "Trace queries",
        access: reads,
        params: z.object({ session_id: z.guid() }),
        responses: { 200: { description: "What was seen.", schema: seen } },
      },
      async ({ caller, params }) => {
        const place = { workspaceId: caller.workspaceId, projectId: params.session_id };
        const found = await runs.seen(place);
        return json(200, summarize(found.runs, found.feedbackKeys));
      },
    ),
  ];
}
