import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { reads, sends } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import type { FeedbackService } from "./feedback-service.ts";
import { feedback, toWire } from "./feedback-view.ts";

const tag = "Feedback";
const id = z.guid();
const params = z.object({ feedback_id: id });
const one = { description: "The feedback", schema: feedback };

export function feedbackRoutes(service: FeedbackService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/feedback",
        operationId: "create_feedback",
        summary: "Give feedback on a run or a project",
        description:
          "Feedback for a run that has not arrived yet is kept. The same id sent again replaces it. It never changes how long a trace is kept, whatever `extend_trace_retention` is: `retention_days` of the project decides that.",
        tag,
        access: sends,
        body: z.looseObject({
          key: z.string().min(1),
          run_id: z.string().nullish(),
          session_id: z.string().nullish(),
        }),
        responses: { 200: one },
        errors: [409],
      },
      async ({ caller, body }) => json(200, toWire(await refuseWhole(() => service.create(caller, body)))),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/feedback",
        operationId: "list_feedback",
        summary: "List feedback, newest first",
        tag,
        access: reads,
        query: z.object({
          run: queryList(id).optional(),
          session: queryList(id).optional(),
          key: queryList(z.string()).optional(),
          source: queryList(z.string()).optional(),
          ...page(1_000),
        }),
        responses: { 200: { description: "A page of feedback", schema: z.array(feedback) } },
      },
      async ({ caller, query }) => {
        const found = await service.list(caller.workspaceId, {
          runs: query.run,
          projects: query.session,
          keys: query.key,
          sources: query.source,
          limit: query.limit,
          offset: query.offset,
        });
        return json(200, found.map(toWire));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/feedback/{feedback_id}",
        operationId: "get_feedback",
        summary: "Read feedback",
        tag,
        access: reads,
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toWire(await service.get(caller.workspaceId, params.feedback_id))),
    ),
  ];
}
