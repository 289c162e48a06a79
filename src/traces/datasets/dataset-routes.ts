import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { reads } from "../wire/access.ts";
import { jsonQuery, page } from "../wire/list-query.ts";
import type { DatasetService } from "./dataset-service.ts";
import { dataset, toWire } from "./dataset-view.ts";

const tag = "Datasets";
const id = z.guid();
const one = { description: "The dataset", schema: dataset };
const params = z.object({ dataset_id: id });

export function datasetRoutes(service: DatasetService): Route[] {
  return [
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
  ];
}
