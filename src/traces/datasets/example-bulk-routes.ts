import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { writes } from "../wire/access.ts";
import { maxSentBytes } from "../wire/request-body.ts";
import type { DatasetService } from "./dataset-service.ts";
import { changeOf, readSent, written } from "./example-request.ts";
import { toNewExample } from "./read-example.ts";

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
    route(
      {
        method: "post",
        path: "/api/v1/platform/examples/multipart",
        operationId: "upsert_examples",
        summary: "Add or change examples, as parts of one body",
        description: "As with `upload_examples`; the part `<example id>` also names the `dataset_id`.",
        tag,
        access: writes,
        rawBody: true,
        maxBodyBytes: maxSentBytes,
        responses: { 201: { description: "Added or changed", schema: written } },
        errors: [400, 404, 409, 413],
      },
      async ({ request, caller }) => {
        const sent = await readSent(request);
        const [datasetId, ...others] = new Set(sent.map((each) => each.record.dataset_id));
        const dataset = id.safeParse(datasetId);
        if (!dataset.success || others.length > 0)
          throw invalidField(["body", "dataset_id"], "All examples must name the same dataset");
        const { ids, version } = await service.upsertExamples(
          caller.workspaceId,
          dataset.data,
          sent.map((each) => ({
            id: each.id,
            added: toNewExample(each),
            change: changeOf(each),
            attachments: each.attachments,
          })),
        );
        return json(201, { count: ids.length, example_ids: ids, as_of: version });
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/platform/datasets/examples/delete",
        operationId: "delete_examples",
        summary: "Delete several examples",
        description: "Deleted from the newest version on; with `hard_delete` from all versions, permanently.",
        tag,
        access: writes,
        body: z.looseObject({ example_ids: z.array(id).max(1_000), hard_delete: z.boolean().nullish() }),
        responses: { 200: { description: "Deleted", schema: z.object({ message: z.string() }) } },
      },
      async ({ caller, body }) => {
        const forget = body.hard_delete ?? false;
        await service.removeExamples(caller.workspaceId, body.example_ids, { forget });
        return json(200, { message: "Examples deleted" });
      },
    ),
  ];
}
