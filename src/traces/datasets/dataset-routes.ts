import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { reads, writes } from "../wire/access.ts";
import { jsonQuery, page } from "../wire/list-query.ts";
import type { Dataset } from "./dataset.ts";
import type { DatasetService } from "./dataset-service.ts";

const tag = "Datasets";
const id = z.guid();
const anyJson = z.unknown().optional();

export const dataset = z.object({
  id,
  tenant_id: id,
  name: z.string(),
  description: z.string().nullable(),
  data_type: z.string(),
  inputs_schema_definition: anyJson,
  outputs_schema_definition: anyJson,
  metadata: anyJson,
  example_count: z.int(),
  session_count: z.int(),
  created_at: z.string(),
  modified_at: z.string(),
});

const one = { description: "The dataset", schema: dataset };
const params = z.object({ dataset_id: id });

export function datasetRoutes(service: DatasetService): Route[] {
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
        method: "get",
        path: "/api/v1/datasets",
        operationId: "list_datasets",
        summary: "List datasets, newest first",
        tag,
        access: reads,
        query: z.object({
          id: queryList(id).optional(),
          name: z.string().optional(),
          name_contains: z.string().optional(),
          data_type: z.string().optional(),
          metadata: jsonQuery.optional(),
          ...page(100),
        }),
        responses: { 200: { description: "A page of datasets", schema: z.array(dataset) } },
      },
      async ({ caller, query }) => {
        const found = await service.list(caller.workspaceId, {
          ids: query.id,
          name: query.name,
          nameContains: query.name_contains,
          dataType: query.data_type,
          metadata: query.metadata,
          limit: query.limit,
          offset: query.offset,
        });
        return json(200, found.map(toWire));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}",
        operationId: "get_dataset",
        summary: "Read a dataset",
        tag,
        access: reads,
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toWire(await service.get(caller.workspaceId, params.dataset_id))),
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

export function toWire(found: Dataset): z.input<typeof dataset> {
  const { workspace_id, inputs_schema, outputs_schema, ...rest } = found;
  return {
    ...rest,
    tenant_id: workspace_id,
    inputs_schema_definition: inputs_schema,
    outputs_schema_definition: outputs_schema,
  };
}
