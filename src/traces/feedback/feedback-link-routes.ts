import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import type { FeedbackTokenService } from "./feedback-token-service.ts";

const tag = "Feedback";
const any = z.unknown().optional();
const given = { description: "Kept", schema: z.object({ message: z.string() }) };
const open = { kind: "open" } as const;

/** Giving feedback by a link, without a key. */
export function feedbackLinkRoutes(tokens: FeedbackTokenService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/feedback/tokens/{token}",
        operationId: "give_feedback_by_token",
        summary: "Give feedback with a link",
        description: "Needs no key. It replaces earlier feedback with the same link.",
        tag,
        access: open,
        params: z.object({ token: z.guid() }),
        body: z.looseObject({
          score: any,
          value: any,
          comment: any,
          correction: any,
          metadata: z.record(z.string(), z.unknown()).nullish(),
        }),
        maxBodyBytes: 256 * 1024,
        responses: { 200: given },
        errors: [404, 413],
      },
      async ({ params, body }) => {
        await refuseWhole(() => tokens.give(params.token, body));
        return json(200, { message: "Feedback kept" });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/feedback/tokens/{token}",
        operationId: "give_feedback_by_link",
        summary: "Give feedback by opening a link",
        description: "The same with the score in the URL, for an e-mail or a page without scripts.",
        tag,
        access: open,
        params: z.object({ token: z.guid() }),
        query: z.object({
          score: z.coerce.number().optional(),
          value: z.string().max(10_000).optional(),
          comment: z.string().max(10_000).optional(),
          correction: z.string().max(10_000).optional(),
        }),
        responses: { 200: given },
        errors: [404],
      },
      async ({ params, query }) => {
        await refuseWhole(() => tokens.give(params.token, query));
        return json(200, { message: "Feedback kept" });
      },
    ),
  ];
}
