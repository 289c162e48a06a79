import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { id, time } from "../wire/fields.ts";
import type { ModelKeyEntry, ModelKeys } from "./model-key-service.ts";

const entry = z
  .object({
    provider: z.string().describe("Its bare name is a `model_name` too: it stands for the default model."),
    name: z.string(),
    default_model: z.string(),
    set: z.boolean().describe("Whether this workspace has a key for it."),
    hint: z.string().nullable().describe("The last characters of the key; the key itself is never returned."),
    on_server: z.boolean().describe("Whether the server has a key in its environment, for every workspace."),
    updated_by: id.nullable(),
    updated_at: time.nullable(),
  })
  .meta({ id: "ModelKey" });

const tag = "Model keys";
const params = z.object({ provider: z.string().max(100) });
const key = z
  .string()
  .trim()
  .min(8)
  .max(1_000)
  .regex(/^[\x21-\x7e]+$/, "Must be the key alone: no spaces, no line breaks")
  .describe("The provider's API key. Stored encrypted.");

/** Keys of model providers, for the built-in agents of the workspace. */
export function modelKeyRoutes(keys: ModelKeys): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/model-keys",
        operationId: "list_model_keys",
        summary: "List the model providers and which have a key",
        tag,
        access: { kind: "workspace", role: "viewer", scope: "read" },
        responses: {
          200: { description: "Every known provider", schema: z.object({ resources: z.array(entry) }) },
        },
      },
      async ({ caller }) => json(200, { resources: (await keys.list(caller)).map(toWire) }),
    ),
    route(
      {
        method: "put",
        path: "/v2/model-keys/{provider}",
        operationId: "set_model_key",
        summary: "Store a model provider's key",
        description:
          "For the built-in agents of this workspace: everybody who may start their runs uses it. Deployments have their own secrets. It replaces an earlier key.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: { action: "model_key.set", target: { kind: "model_key", id: "params.provider" } },
        params,
        body: z.object({ key }),
        maxBodyBytes: 10_000,
        responses: { 200: { description: "The provider and the end of the key", schema: entry } },
        errors: [404],
      },
      async ({ caller, params, body }) =>
        json(200, toWire(await keys.set(caller, params.provider, body.key))),
    ),
    route(
      {
        method: "delete",
        path: "/v2/model-keys/{provider}",
        operationId: "delete_model_key",
        summary: "Delete a model provider's key",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: { action: "model_key.removed", target: { kind: "model_key", id: "params.provider" } },
        params,
        responses: { 204: { description: "Forgotten" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await keys.remove(caller, params.provider);
        return noContent();
      },
    ),
  ];
}

function toWire({ provider, name, defaultModel, onServer, key }: ModelKeyEntry): z.input<typeof entry> {
  return {
    provider,
    name,
    default_model: defaultModel,
    set: key !== null,
    hint: key?.hint ?? null,
    on_server: onServer,
    updated_by: key?.updated_by ?? null,
    updated_at: key?.updated_at.toISOString() ?? null,
  };
}
