import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { reads, writes } from "../wire/access.ts";
import type { DatasetService } from "./dataset-service.ts";
import type { DatasetVersionService } from "./dataset-version-service.ts";

const tag = "Datasets";
const id = z.guid();
const params = z.object({ dataset_id: id });
const asOf = z.string().min(1).max(500).describe("A time, or a tag.");
const splits = { description: "The names of the splits", schema: z.array(z.string()) };

export function datasetSplitRoutes(versions: DatasetVersionService, datasets: DatasetService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/splits",
        operationId: "list_dataset_splits",
        summary: "List the splits of a dataset",
        tag,
        access: reads,
        params,
        query: z.object({ as_of: asOf.optional() }),
        responses: { 200: splits },
        errors: [404],
      },
      async ({ caller, params, query }) =>
        json(200, await versions.splits(caller.workspaceId, params.dataset_id, query.as_of)),
    ),
    route(
      {
        method: "put",
        path: "/api/v1/datasets/{dataset_id}/splits",
        operationId: "update_dataset_split",
        summary: "Add examples to a split, or remove them",
        tag,
        access: writes,
        params,
        body: z.looseObject({
          split_name: z.string().min(1).max(500),
          examples: z.array(id).max(10_000),
          remove: z.boolean().nullish(),
        }),
        responses: { 200: splits },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = { split: body.split_name, ids: body.examples, remove: body.remove ?? false };
        return json(200, await datasets.updateSplit(caller.workspaceId, params.dataset_id, change));
      },
    ),
  ];
}
