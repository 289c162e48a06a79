import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { reads, sends, writes } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import type { Feedback } from "./feedback.ts";
import type { FeedbackService } from "./feedback-service.ts";
import { jsonText, readComment, readScore } from "./read-feedback.ts";

const tag = "Feedback";
const id = z.guid();
const any = z.unknown().optional();

const feedback = z
  .object({
    id,
    created_at: z.string(),
    modified_at: z.string(),
    key: z.string(),
    score: z.number().nullable(),
    value: any,
    comment: z.string().nullable(),
    correction: any,
    run_id: id.nullable(),
    trace_id: id.nullable(),
    session_id: id.nullable(),
    feedback_source: any,
    feedback_config: any,
    comparative_experiment_id: id.nullable(),
    feedback_group_id: id.nullable(),
    extra: any,
  })
  .meta({ id: "Feedback" });

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
          "Feedback for a run that has not arrived yet is kept. The same id sent again replaces it. It never changes how long a trace is kept, whatever `extend_trace_retention` says: that is `retention_days` of the project.",
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
    route(
      {
        method: "patch",
        path: "/api/v1/feedback/{feedback_id}",
        operationId: "update_feedback",
        summary: "Change feedback",
        tag,
        access: writes,
        params,
        body: z.looseObject({ score: any, value: any, comment: any, correction: any }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = await refuseWhole(async () => ({
          ...("score" in body && { score: readScore(body.score) }),
          ...("value" in body && { value: jsonText(body.value) }),
          ...("comment" in body && { comment: readComment(body.comment) }),
          ...("correction" in body && { correction: jsonText(body.correction) }),
        }));
        return json(200, toWire(await service.update(caller.workspaceId, params.feedback_id, change)));
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/feedback/{feedback_id}",
        operationId: "delete_feedback",
        summary: "Delete feedback",
        tag,
        access: writes,
        params,
        responses: { 200: { description: "Deleted", schema: z.object({ message: z.string() }) } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.remove(caller.workspaceId, params.feedback_id);
        return json(200, { message: "Feedback deleted" });
      },
    ),
  ];
}

function toWire(found: Feedback): z.input<typeof feedback> {
  const { workspace_id: _workspace, project_id, value, correction, ...rest } = found;
  return { ...rest, session_id: project_id, value: parsed(value), correction: parsed(correction) };
}

function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}
