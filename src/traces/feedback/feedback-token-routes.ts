import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import type { OneProjectRules } from "../projects/one-project.ts";
import { sends } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import { endOf, type FeedbackToken, newFeedbackToken } from "./feedback-token.ts";
import type { FeedbackTokenService } from "./feedback-token-service.ts";

const tag = "Feedback";
const view = z.object({ id: z.guid(), url: z.string(), expires_at: z.string() });
const maxTokens = 100;

export function feedbackTokenRoutes(options: {
  tokens: FeedbackTokenService;
  oneProject: OneProjectRules;
  clock: Clock;
}): Route[] {
  const { tokens, oneProject, clock } = options;
  const toWire = (request: Request) => (token: FeedbackToken) => ({
    id: token.id,
    url: tokens.urlOf(token, request.url),
    expires_at: token.expires_at,
  });
  return [
    route(
      {
        method: "post",
        path: "/api/v1/feedback/tokens",
        operationId: "create_feedback_tokens",
        summary: "Create a link for feedback on a run without a key",
        description:
          "One, or a list of several. A link is for one piece of feedback. It expires after `expires_in` or at `expires_at`. Everyone with the link can use it.",
        tag,
        access: sends,
        body: z.union([newFeedbackToken, z.array(newFeedbackToken).min(1).max(maxTokens)]),
        responses: {
          200: { description: "The link, or the list of them", schema: z.union([view, z.array(view)]) },
        },
      },
      async ({ request, caller, body }) => {
        const sent = Array.isArray(body) ? body : [body];
        const only = await oneProject.find(caller.workspaceId, caller.tracingProject);
        const now = clock.now();
        const asked = sent.map((each, index) => {
          const expiresAt = endOf(each, now);
          const at = Array.isArray(body) ? [index] : [];
          if (!expiresAt)
            throw invalidField(["body", ...at, "expires_at"], "must be in the future, and within a year");
          const { run_id: runId, feedback_key: key, feedback_config: config, id } = each;
          return { runId, key, config, expiresAt, feedbackId: id ?? undefined };
        });
        await refuseWhole(async () => {
          for (const { runId } of asked) await oneProject.checkRun(caller.workspaceId, only, runId);
        });
        const made = (await tokens.create(caller.workspaceId, asked)).map(toWire(request));
        return json(200, Array.isArray(body) ? made : made[0]);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/feedback/tokens",
        operationId: "list_feedback_tokens",
        summary: "List the feedback links of a run that have not expired",
        description: "Needs write access, because everyone who sees a link can use it.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "traces:write" },
        query: z.object({ run_id: z.guid(), ...page(100) }),
        responses: { 200: { description: "A page of links, oldest first", schema: z.array(view) } },
      },
      async ({ request, caller, query }) => {
        const { run_id: runId, limit, offset } = query;
        const found = await tokens.list(caller.workspaceId, { runId, limit, offset });
        return json(200, found.map(toWire(request)));
      },
    ),
  ];
}
