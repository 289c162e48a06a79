import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { newId } from "../../platform/ids.ts";
import { id, pageBody, pageOf, pageQuery, time } from "../wire/wire-fields.ts";
import { computeTypes, type Listener, presenceOf, presenceStates } from "./listener.ts";
import { bindTo, requireReadableBy } from "./listener-key-service.ts";
import { removeListener } from "./listener-removal-service.ts";
import {
  countDeployments,
  findListener,
  insertListener,
  listListeners,
  saveListener,
} from "./listener-store.ts";

const tag = "Listeners (v2)";
const params = z.object({ listener_id: id });
const config = z.looseObject({ k8s_namespaces: z.array(z.string()).nullish() });
const listener = z
  .object({
    id,
    tenant_id: id,
    version: z.string().nullable(),
    compute_type: z.enum(computeTypes),
    compute_id: z.string(),
    compute_config: z.looseObject({}),
    presence: z
      .enum(presenceStates)
      .describe("Whether its process is alive; `never`: none has connected so far."),
    seen_at: time.nullable().describe("When its process was heard of for the last time."),
    process: z
      .object({ version: z.string(), runtime: z.string(), url: z.string() })
      .nullable()
      .describe("What its process said about itself."),
    deployments: z.number().int().describe("How many deployments it has to run."),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: "Listener" });
const one = { description: "The listener", schema: listener };
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;
const admin = { kind: "workspace", role: "admin", scope: "admin" } as const;

export type ListenerRoutesOptions = { database: Database; clock: Clock };

/** Data planes elsewhere: their processes take deployments of the workspace over the API and run them there. */
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
      async ({ caller, query }) => {
        const found = await listListeners(sql, caller.workspaceId, query);
        const counts = await countDeployments(
          sql,
          found.map((row) => row.id),
        );
        const wires = found.map((row) => toWire(row, counts.get(row.id) ?? 0, clock.now()));
        return json(200, pageBody(wires, query));
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/listeners",
        operationId: "create_listener",
        summary: "Create a listener",
        description:
          "Then run `treadle listener` where its deployments are to run, with a key that has the scope `listener`. Each listener needs a key of its own: the first use of a key binds it.",
        tag,
        access: admin,
        audit: { action: "listener.created", target: { kind: "listener", id: "answer.id" } },
        body: z.object({
          version: z.string().max(200).nullish(),
          compute_type: z.enum(computeTypes),
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
        if (made) return json(201, toWire(made, 0, clock.now()));
        throw new AppError({
          code: "listener.exists",
          kind: "conflict",
          message: `A listener for '${body.compute_id}' already exists in this workspace.`,
        });
      },
    ),
  ];
}

function oneListenerRoutes({ database, clock }: ListenerRoutesOptions): Route[] {
  const { sql } = database;
  const answer = async (row: Listener) =>
    json(200, toWire(row, (await countDeployments(sql, [row.id])).get(row.id) ?? 0, clock.now()));
  return [
    route(
      {
        method: "get",
        path: "/v2/listeners/{listener_id}",
        operationId: "get_listener",
        summary: "Get a listener",
        tag,
        access: { ...read, scope: ["read", "deploy", "listener"] },
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) => {
        const found = knownListener(await findListener(sql, caller.workspaceId, params.listener_id), params);
        await requireReadableBy(sql, caller, found.id);
        return answer(found);
      },
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
        body: z.object({
          version: z.string().max(200).nullish(),
          compute_config: config.nullish(),
          api_key_id: id
            .nullish()
            .describe(
              "A key with the scope `listener` that acts for this listener from now on, and for no other.",
            ),
        }),
        responses: { 200: one },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => {
        const found = knownListener(await findListener(sql, caller.workspaceId, params.listener_id), params);
        const of = { workspaceId: caller.workspaceId, listenerId: found.id };
        if (body.api_key_id) await bindTo(sql, { ...of, apiKeyId: body.api_key_id });
        const change = { version: body.version, computeConfig: body.compute_config };
        const saved = await saveListener(sql, caller.workspaceId, params.listener_id, change, clock.now());
        return answer(knownListener(saved, params));
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/listeners/{listener_id}",
        operationId: "delete_listener",
        summary: "Delete a listener",
        description: "Only one without deployments: delete those first.",
        tag,
        access: admin,
        audit: { action: "listener.deleted", target: { kind: "listener", id: "params.listener_id" } },
        params,
        responses: { 204: { description: "Deleted" } },
        errors: [404, 409],
      },
      async ({ caller, params: { listener_id: id } }) => {
        knownListener(await findListener(sql, caller.workspaceId, id), { listener_id: id });
        await removeListener(database, caller.workspaceId, id);
        return noContent();
      },
    ),
  ];
}

export function knownListener(
  found: Listener | undefined,
  { listener_id }: { listener_id: string },
): Listener {
  if (found) return found;
  throw new AppError({
    code: "listener.not_found",
    kind: "not_found",
    message: `Listener ID ${listener_id} not found.`,
  });
}

function toWire(row: Listener, deployments: number, now: Date): z.input<typeof listener> {
  return {
    id: row.id,
    tenant_id: row.workspace_id,
    version: row.version,
    compute_type: row.compute_type as (typeof computeTypes)[number],
    compute_id: row.compute_id,
    compute_config: row.compute_config,
    presence: presenceOf(row, now).state,
    seen_at: row.seen_at?.toISOString() ?? null,
    process: row.process,
    deployments,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
