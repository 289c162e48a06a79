import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { reads, writes } from "../wire/access.ts";
import { page } from "../wire/list-query.ts";
import {
  configDiffers,
  configNotFound,
  type FeedbackConfig,
  feedbackConfig,
  feedbackKey,
} from "./feedback-config.ts";
import {
  deleteFeedbackConfig,
  insertFeedbackConfig,
  listFeedbackConfigs,
  updateFeedbackConfig,
} from "./feedback-config-store.ts";

const tag = "Feedback";
const path = "/api/v1/feedback-configs";
const view = z.object({
  feedback_key: z.string(),
  feedback_config: z.unknown(),
  is_lower_score_better: z.boolean(),
  tenant_id: z.guid(),
  modified_at: z.string(),
});
const one = { description: "The config", schema: view };

/** How the scores of each key are to be read: their range, their categories, and which end is the better one. */
export function feedbackConfigRoutes({ sql }: Database): Route[] {
  return [
    route(
      {
        method: "post",
        path,
        operationId: "create_feedback_config",
        summary: "Define how to read the scores of a feedback key",
        tag,
        access: writes,
        body: z.looseObject({
          feedback_key: feedbackKey,
          feedback_config: feedbackConfig,
          is_lower_score_better: z.boolean().nullish(),
        }),
        responses: { 200: one },
        errors: [409],
      },
      async ({ caller, body }) => {
        const made = await insertFeedbackConfig(sql, {
          workspace_id: caller.workspaceId,
          feedback_key: body.feedback_key,
          feedback_config: body.feedback_config,
          is_lower_score_better: body.is_lower_score_better ?? false,
        });
        if (!made) throw configDiffers(body.feedback_key);
        return json(200, toWire(made));
      },
    ),
    route(
      {
        method: "get",
        path,
        operationId: "list_feedback_configs",
        summary: "List feedback configs by key",
        tag,
        access: reads,
        query: z.object({
          key: queryList(z.string()).optional(),
          name_contains: z.string().optional(),
          ...page(100),
        }),
        responses: { 200: { description: "A page of configs", schema: z.array(view) } },
      },
      async ({ caller, query }) => {
        const { key: keys, name_contains: nameContains, limit, offset } = query;
        const filter = { keys, nameContains, limit, offset };
        return json(200, (await listFeedbackConfigs(sql, caller.workspaceId, filter)).map(toWire));
      },
    ),
    route(
      {
        method: "patch",
        path,
        operationId: "update_feedback_config",
        summary: "Change a feedback config",
        tag,
        access: writes,
        body: z.looseObject({
          feedback_key: feedbackKey,
          feedback_config: feedbackConfig.nullish(),
          is_lower_score_better: z.boolean().nullish(),
        }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, body }) => {
        const updated = await updateFeedbackConfig(sql, caller.workspaceId, body.feedback_key, {
          feedback_config: body.feedback_config ?? undefined,
          is_lower_score_better: body.is_lower_score_better ?? undefined,
        });
        if (!updated) throw configNotFound(body.feedback_key);
        return json(200, toWire(updated));
      },
    ),
    route(
      {
        method: "delete",
        path,
        operationId: "delete_feedback_config",
        summary: "Delete a feedback config; the feedback stays",
        tag,
        access: writes,
        query: z.object({ feedback_key: feedbackKey }),
        responses: { 204: { description: "Deleted" } },
        errors: [404],
      },
      async ({ caller, query }) => {
        if (!(await deleteFeedbackConfig(sql, caller.workspaceId, query.feedback_key)))
          throw configNotFound(query.feedback_key);
        return noContent();
      },
    ),
  ];
}

function toWire({ workspace_id, ...config }: FeedbackConfig): z.input<typeof view> {
  return { ...config, tenant_id: workspace_id };
}
