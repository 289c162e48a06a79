import { z } from "zod";
import { queryList } from "../../platform/http/query.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { writes } from "../access.ts";
import type { DatasetService } from "./dataset-service.ts";
import { changeOf } from "./example-routes.ts";

const tag = "Datasets";
const id = z.guid();
const any = z.unknown().optional();
const done = (description: string) => ({ 200: { description, schema: z.object({ message: z.string() }) } });

/** Several examples in one request, as the older methods of clients send them. */
export function exampleBulkRoutes(service: DatasetService): Route[] {
  return [
    route(
      {
        method: "delete",
        path: "/api/v1/examples",
        operationId: "soft_delete_examples",
        summary: "Delete several examples; earlier versions of the dataset keep them",
        tag,
        access: writes,
        query: z.object({ example_ids: queryList(id) }),
        responses: done("Deleted"),
      },
      async ({ caller, query }) => {
        await service.removeExamples(caller.workspaceId, query.example_ids);
        return json(200, { message: "Examples deleted" });
      },
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/examples/bulk",
        operationId: "update_examples_as_json",
        summary: "Change several examples: all of them, or none",
        tag,
        access: writes,
        body: z
          .array(
            z.looseObject({ id, inputs: any, outputs: any, metadata: z.record(z.string(), any).nullish() }),
          )
          .min(1)
          .max(10_000),
        responses: done("Changed"),
        errors: [404],
      },
      async ({ caller, body }) => {
        const changes = body.map((record) => ({
          id: record.id,
          change: changeOf({ id: record.id, record }),
        }));
        await service.updateExamples(caller.workspaceId, changes);
        return json(200, { message: `${changes.length} examples updated` });
      },
    ),
  ];
}
