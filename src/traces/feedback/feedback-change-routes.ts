import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { writes } from "../wire/access.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import type { FeedbackService } from "./feedback-service.ts";
import { feedback, toWire } from "./feedback-view.ts";
import { jsonText, readComment, readScore } from "./read-feedback.ts";

const tag = "Feedback";
const id = z.guid();
const any = z.unknown().optional();
const params = z.object({ feedback_id: id });
const one = { description: "The feedback", schema: feedback };

export function feedbackChangeRoutes(service: FeedbackService): Route[] {
  return [
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
