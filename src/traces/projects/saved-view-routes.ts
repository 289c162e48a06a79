import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { reads, writes } from "../wire/access.ts";
import type { SavedView } from "./saved-view.ts";
import type { SavedViews } from "./saved-view-service.ts";

const tag = "Projects";
const id = z.guid().transform((text) => text.toLowerCase());
const text = z.string().max(100);
const fields = z.object({
  name: z.string().trim().min(1).max(100),
  filter: z.string().max(10_000).default("").describe("In the filter language."),
  columns: z.array(text).max(50).default([]).describe("Empty: the usual ones."),
  sort: text.nullish().describe("`latency` or `-latency`; null: the newest first."),
  options: z
    .record(z.string().max(30), text)
    .refine((given) => Object.keys(given).length <= 20, "At most 20 options")
    .default({})
    .describe("Other filters of the list, as in its URL."),
});
const view = z
  .object({
    id: z.guid(),
    name: z.string(),
    filter: z.string(),
    columns: z.array(z.string()),
    sort: z.string().nullable(),
    options: z.record(z.string(), z.string()),
    created_by: z.guid().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: "SavedView" });
const one = { description: "The view", schema: view };
const ofProject = z.object({ session_id: id });
const ofView = z.object({ session_id: id, view_id: id });
const path = "/api/v1/sessions/{session_id}/saved-views";

/** Views of a project's runs that a workspace shares under names. */
export function savedViewRoutes(views: SavedViews): Route[] {
  return [
    route(
      {
        method: "get",
        path,
        operationId: "list_saved_views",
        summary: "The saved views of a project's runs",
        tag,
        access: reads,
        params: ofProject,
        responses: { 200: { description: "By name", schema: z.array(view) } },
        errors: [404],
      },
      async ({ caller, params }) => json(200, (await views.list(caller, params.session_id)).map(toWire)),
    ),
    route(
      {
        method: "post",
        path,
        operationId: "create_saved_view",
        summary: "Save a view of a project's runs under a name",
        tag,
        access: writes,
        params: ofProject,
        body: fields,
        responses: { 201: one },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => {
        const given = { ...body, sort: body.sort ?? null };
        return json(201, toWire(await views.create(caller, params.session_id, given)));
      },
    ),
    route(
      {
        method: "patch",
        path: `${path}/{view_id}`,
        operationId: "update_saved_view",
        summary: "Rename or change a saved view",
        tag,
        access: writes,
        params: ofView,
        body: z.object({
          name: fields.shape.name.optional(),
          filter: z.string().max(10_000).optional(),
          columns: z.array(text).max(50).optional(),
          sort: text.nullable().optional(),
          options: z.record(z.string().max(30), text).optional(),
        }),
        responses: { 200: one },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => {
        const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
        return json(200, toWire(await views.change(caller, params.session_id, params.view_id, given)));
      },
    ),
    route(
      {
        method: "delete",
        path: `${path}/{view_id}`,
        operationId: "delete_saved_view",
        summary: "Delete a saved view",
        tag,
        access: writes,
        params: ofView,
        responses: { 204: { description: "Deleted" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await views.remove(caller, params.session_id, params.view_id);
        return noContent();
      },
    ),
  ];
}

function toWire({ workspace_id: _, project_id: __, ...saved }: SavedView): z.input<typeof view> {
  return {
    ...saved,
    created_at: saved.created_at.toISOString(),
    updated_at: saved.updated_at.toISOString(),
  };
}
