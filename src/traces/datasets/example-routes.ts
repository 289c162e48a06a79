import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { attachmentResponse } from "../attachments/attachment-routes.ts";
import { reads } from "../wire/access.ts";
import { jsonQuery, page } from "../wire/list-query.ts";
import type { DatasetVersionService } from "./dataset-version-service.ts";
import { compileExampleFilter } from "./example-filter.ts";
import { type ExampleViewOptions, example, withAttachments } from "./example-view.ts";

const tag = "Datasets";
const id = z.guid();
const one = { description: "The example", schema: example };
const params = z.object({ example_id: id });

export type ExampleRoutesOptions = ExampleViewOptions & { versions: DatasetVersionService };

/** Reading examples. */
export function exampleRoutes(options: ExampleRoutesOptions): Route[] {
  const { service, versions } = options;
  return [
    route(
      {
        method: "get",
        path: "/api/v1/examples",
        operationId: "list_examples",
        summary: "List examples in the order they were added",
        tag,
        access: reads,
        query: z.object({
          dataset: id.optional(),
          id: queryList(id).optional(),
          splits: queryList(z.string()).optional(),
          metadata: jsonQuery.optional(),
          filter: z
            .string()
            .optional()
            .describe(
              'On id, metadata, inputs and outputs, for example and(exists(metadata, "team"), not(has(metadata, \'{"env": "test"}\'))).',
            ),
          as_of: z.string().max(500).optional().describe("A time, or a tag of the dataset."),
          ...page(1_000),
        }),
        responses: { 200: { description: "A page of examples", schema: z.array(example) } },
      },
      async ({ request, caller, query }) => {
        const asOf = await versions.timeOf(caller.workspaceId, query.dataset, query.as_of);
        const found = await service.listExamples(caller.workspaceId, {
          asOf,
          datasetId: query.dataset,
          ids: query.id,
          splits: query.splits,
          metadata: query.metadata,
          filter: query.filter === undefined ? undefined : compileExampleFilter(query.filter),
          limit: query.limit,
          offset: query.offset,
        });
        return json(200, await withAttachments(options, request, caller.workspaceId, found));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/examples/{example_id}",
        operationId: "get_example",
        summary: "Read an example",
        tag,
        access: reads,
        params,
        query: z.object({ as_of: z.string().max(500).optional(), dataset: id.optional() }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ request, caller, params, query }) => {
        const asOf = await versions.timeOf(caller.workspaceId, query.dataset, query.as_of);
        const found = await service.getExample(caller.workspaceId, params.example_id, asOf);
        const [wire] = await withAttachments(options, request, caller.workspaceId, [found]);
        return json(200, wire!);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/examples/{example_id}/attachments/{name}",
        operationId: "get_example_attachment",
        summary: "Download an example's attachment",
        tag,
        access: reads,
        params: z.object({ example_id: id, name: z.string() }),
        responses: {
          200: { description: "The bytes as they were sent", contentType: "application/octet-stream" },
        },
        errors: [404],
      },
      async ({ caller, params }) =>
        attachmentResponse(await service.getAttachment(caller.workspaceId, params.example_id, params.name)),
    ),
  ];
}
