import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { newId } from "../../platform/ids.ts";
import { id, pageBody, pageOf, pageQuery, time } from "../wire/wire-fields.ts";
import {
  deleteListener,
  findListener,
  insertListener,
  type Listener,
  listListeners,
  saveListener,
} from "./listener-store.ts";

const tag = "Listeners (v2)";
const params = z.object({ listener_id: id });
const config = z.looseObject({ k8s_namespaces: z.array(z.string()).nullish() });
const listener = z.object({
  id,
  version: z.string().nullable(),
  compute_type: z.literal("k8s"),
  compute_id: z.string(),
  compute_config: z.looseObject({}),
  created_at: time,
  updated_at: time,
});
const one = { description: "The listener", schema: listener };
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;
const admin = { kind: "workspace", role: "admin", scope: "admin" } as const;

export type ListenerRoutesOptions = { database: Database; clock: Clock };

/** Data planes elsewhere, which read the desired state and act on it themselves; here they are only known by name. */
export function listenerRoutes(options: ListenerRoutesOptions): Route[] {
  return [...collectionRoutes(options), ...oneListenerRoutes(options)];
}

function collectionRoutes({ database: { sql }, clock }: ListenerRoutesOptions): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/listeners",
        operationId: "list_listeners",
        summary: "List listeners",
        tag,
        access: read,
        query: pageQuery,
        responses: { 200: { description: "A page of listeners", schema: pageOf(listener) } },
      },
      async ({ caller, query }) =>
        json(200, pageBody((await listListeners(sql, caller.workspaceId, query)).map(toWire), query)),
    ),
    route(
      {
        method: "post",
        path: "/v2/listeners",
        operationId: "create_listener",
        summary: "Create a listener",
        tag,
        access: admin,
        audit: { action: "listener.created", target: { kind: "listener", id: "answer.id" } },
        body: z.object({
          version: z.string().max(200).nullish(),
          compute_type: z.literal("k8s"),
          compute_id: z.string().trim().min(1).max(200),
          compute_config: config,
        }),
        idempotent: true,
        responses: { 201: one },
        errors: [409],
      },
      async ({ caller, body }) => {
        const row = { id: newId(), workspace_id: caller.workspaceId, ...body, version: body.version ?? null };
        const made = await insertListener(sql, row, clock.now());
        if (made) return json(201, toWire(made));
        throw new AppError({
          code: "listener.exists",
          kind: "conflict",
          message: `A listener for '${body.compute_id}' already exists in this workspace.`,
        });
      },
    ),
  ];
}

function oneListenerRoutes({ database: { sql }, clock }: ListenerRoutesOptions): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/listeners/{listener_id}",
        operationId: "get_listener",
        summary: "Get a listener",
        tag,
        access: read,
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toWire(known(await findListener(sql, caller.workspaceId, params.listener_id), params))),
    ),
    route(
      {
        method: "patch",
        path: "/v2/listeners/{listener_id}",
        operationId: "patch_listener",
        summary: "Change a listener",
        tag,
        access: admin,
        audit: { action: "listener.changed", target: { kind: "listener", id: "params.listener_id" } },
        params,
        body: z.object({ version: z.string().max(200).nullish(), compute_config: config.nullish() }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = { version: body.version, computeConfig: body.compute_config };
        const saved = await saveListener(sql, caller.workspaceId, params.listener_id, change, clock.now());
        return json(200, toWire(known(saved, params)));
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/listeners/{listener_id}",
        operationId: "delete_listener",
        summary: "Delete a listener",
        tag,
        access: admin,
        audit: { action: "listener.deleted", target: { kind: "listener", id: "params.listener_id" } },
        params,
        responses: { 204: { description: "Deleted" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        if (!(await deleteListener(sql, caller.workspaceId, params.listener_id))) known(undefined, params);
        return noContent();
      },
    ),
  ];
}

function known(found: Listener | undefined, { listener_id }: z.output<typeof params>): Listener {
  if (found) return found;
  throw new AppError({
    code: "listener.not_found",
    kind: "not_found",
    message: `Listener ID ${listener_id} not found.`,
  });
}

function toWire(row: Listener): z.input<typeof listener> {
  return {
    id: row.id,
    version: row.version,
    compute_type: "k8s",
    compute_id: row.compute_id,
    compute_config: row.compute_config,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
