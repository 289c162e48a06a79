import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { writes } from "../wire/access.ts";
import type { DatasetService } from "./dataset-service.ts";
import { anyJson, dataset, toWire } from "./dataset-view.ts";

const tag = "Datasets";
const id = z.guid();
const one = { description: "The dataset", schema: dataset };
const params = z.object({ dataset_id: id });

export function datasetChangeRoutes(service: DatasetService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/datasets",
        operationId: "create_dataset",
        summary: "Create a dataset",
        tag,
        access: writes,
        body: z.looseObject({
          id: id.optional(),
          name: z.string().min(1).max(500),
          description: z.string().nullish(),
          data_type: z.enum(["kv", "llm", "chat"]).nullish(),
          inputs_schema_definition: anyJson,
          outputs_schema_definition: anyJson,
          extra: z.looseObject({ metadata: anyJson }).nullish(),
          metadata: anyJson,
        }),
        responses: { 200: one },
        errors: [409],
      },
      async ({ caller, body }) => {
        const made = await service.create({
          ...(body.id && { id: body.id }),
          workspaceId: caller.workspaceId,
          name: body.name,
          description: body.description ?? null,
          dataType: body.data_type ?? "kv",
          inputsSchema: body.inputs_schema_definition,
          outputsSchema: body.outputs_schema_definition,
          metadata: body.metadata ?? body.extra?.metadata ?? null,
        });
        return json(200, toWire(made));
      },
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/datasets/{dataset_id}",
        operationId: "update_dataset",
        summary: "Change a dataset",
        tag,
        access: writes,
        params,
        body: z.looseObject({
          name: z.string().min(1).max(500).optional(),
          description: z.string().nullish(),
          metadata: anyJson,
        }),
        responses: { 200: one },
        errors: [404, 409],
      },
      async ({ caller, params, body }) => {
        const { name, description, metadata } = body;
        const change = { name, description, metadata };
        return json(200, toWire(await service.update(caller.workspaceId, params.dataset_id, change)));
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/datasets/{dataset_id}",
        operationId: "delete_dataset",
        summary: "Delete a dataset and its examples",
        tag,
        access: writes,
        params,
        responses: { 204: { description: "Deleted" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.remove(caller.workspaceId, params.dataset_id);
        return noContent();
      },
    ),
  ];
}
