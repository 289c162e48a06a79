import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { newId } from "../../platform/ids.ts";
import type { AttachmentLinks } from "../attachments/attachment-links.ts";
import { attachmentResponse } from "../attachments/attachment-routes.ts";
import { reads, writes } from "../wire/access.ts";
import { jsonQuery, page } from "../wire/list-query.ts";
import { boundaryOf, parseMultipart } from "../wire/multipart.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import { maxSentBytes, readIngestBody } from "../wire/request-body.ts";
import type { Example } from "./dataset.ts";
import type { DatasetService } from "./dataset-service.ts";
import type { DatasetVersionService } from "./dataset-version-service.ts";
import { compileExampleFilter } from "./example-filter.ts";
import type { ExampleChange } from "./example-store.ts";
import { outputsText, readExampleParts, type SentExample, toNewExample } from "./read-example.ts";

const tag = "Datasets";
const id = z.guid();
const any = z.unknown().optional();

export const example = z.object({
  id,
  dataset_id: id,
  name: z.string(),
  inputs: any,
  outputs: any,
  metadata: any,
  source_run_id: id.nullable(),
  created_at: z.string(),
  modified_at: z.string(),
  attachment_urls: z
    .record(z.string(), z.object({ presigned_url: z.string(), mime_type: z.string() }))
    .nullable()
    .describe("By `attachment.<name>`; whoever has the address may read it for a day, without a key."),
});
const newExample = z.looseObject({
  id: id.nullish(),
  dataset_id: id,
  inputs: any,
  outputs: any,
  metadata: z.record(z.string(), any).nullish(),
  source_run_id: id.nullish(),
  use_source_run_io: z.boolean().nullish().describe("Take inputs and outputs over from the source run."),
  use_source_run_attachments: z.array(z.string()).nullish(),
});
export const written = z.object({ count: z.int(), example_ids: z.array(id), as_of: z.string() });

const one = { description: "The example", schema: example };
const params = z.object({ example_id: id });
const datasetParams = z.object({ dataset_id: id });

export function exampleRoutes(options: {
  service: DatasetService;
  versions: DatasetVersionService;
  links: AttachmentLinks;
  clock: Clock;
}): Route[] {
  const { service, versions, links, clock } = options;
  const withAttachments = async (request: Request, workspaceId: string, found: readonly Example[]) => {
    const ids = found.map((each) => each.id);
    const attachments = await service.attachmentsOf(workspaceId, ids);
    const { origin } = new URL(request.url);
    return found.map((each) =>
      toWire(
        each,
        attachments.get(each.id)?.map(({ name, mime_type }) => {
          const place = { workspaceId, of: "example", id: each.id, name } as const;
          return [
            `attachment.${name}`,
            { presigned_url: links.urlOf(origin, place, clock.now()), mime_type },
          ];
        }),
      ),
    );
  };
  const multipart = {
    tag,
    access: writes,
    params: datasetParams,
    rawBody: true,
    maxBodyBytes: maxSentBytes,
    errors: [400, 404, 409, 413],
  };
  return [
    route(
      {
        ...multipart,
        method: "post",
        path: "/api/v1/platform/datasets/{dataset_id}/examples",
        operationId: "upload_examples",
        summary: "Add examples as parts of one body",
        description:
          "Parts: `<example id>` (metadata, split), `<example id>.inputs`, `<example id>.outputs`, `<example id>.attachment.<name>`. All are added, or none.",
        responses: { 201: { description: "Added", schema: written } },
      },
      async ({ request, caller, params }) => {
        const sent = await readSent(request);
        const attachments = sent.flatMap((each) => each.attachments ?? []);
        const examples = await refuseWhole(() => sent.map(toNewExample));
        const added = await service.addExamples(caller.workspaceId, params.dataset_id, examples, attachments);
        return json(201, { count: added.ids.length, example_ids: added.ids, as_of: added.version });
      },
    ),
    route(
      {
        ...multipart,
        method: "patch",
        path: "/api/v1/platform/datasets/{dataset_id}/examples",
        operationId: "update_examples",
        summary: "Change examples, as parts of one body",
        responses: { 201: { description: "Changed", schema: written } },
      },
      async ({ request, caller, params }) => {
        await service.get(caller.workspaceId, params.dataset_id);
        const sent = await readSent(request);
        const { version } = await service.updateExamples(
          caller.workspaceId,
          sent.map((each) => ({
            id: each.id,
            change: changeOf(each),
            kept: each.kept,
            attachments: each.attachments,
          })),
          params.dataset_id,
        );
        return json(201, {
          count: sent.length,
          example_ids: sent.map((each) => each.id),
          as_of: version ?? new Date().toISOString(),
        });
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/platform/datasets/examples/delete",
        operationId: "delete_examples",
        summary: "Delete several examples",
        description: "From the newest version on; with `hard_delete` from all versions, and for good.",
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
    route(
      {
        method: "post",
        path: "/api/v1/examples",
        operationId: "create_example",
        summary: "Add an example",
        tag,
        access: writes,
        body: newExample,
        responses: { 200: one },
        errors: [404, 409],
      },
      async ({ request, caller, body }) => {
        const sent = await refuseWhole(() => toNewExample({ id: body.id ?? newId(), record: body }));
        await service.addExamples(caller.workspaceId, body.dataset_id, [sent]);
        const made = await service.getExample(caller.workspaceId, sent.id);
        const [wire] = await withAttachments(request, caller.workspaceId, [made]);
        return json(200, wire!);
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/examples/bulk",
        operationId: "create_examples",
        summary: "Add examples to one dataset",
        tag,
        access: writes,
        body: z.array(newExample).min(1).max(10_000),
        responses: { 200: { description: "The examples", schema: z.array(example) } },
        errors: [404, 409],
      },
      async ({ caller, body }) => {
        const datasetId = body[0]!.dataset_id;
        if (body.some((each) => each.dataset_id !== datasetId)) {
          throw invalidField(["body"], "All examples of one request must belong to the same dataset.");
        }
        const sent = await refuseWhole(() =>
          body.map((record) => toNewExample({ id: record.id ?? newId(), record })),
        );
        const { ids } = await service.addExamples(caller.workspaceId, datasetId, sent);
        const found = await service.listExamples(caller.workspaceId, { ids, limit: ids.length, offset: 0 });
        return json(
          200,
          found.map((each) => toWire(each)),
        );
      },
    ),
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
        return json(200, await withAttachments(request, caller.workspaceId, found));
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
        const [wire] = await withAttachments(request, caller.workspaceId, [found]);
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
    route(
      {
        method: "patch",
        path: "/api/v1/examples/{example_id}",
        operationId: "update_example",
        summary: "Change an example",
        tag,
        access: writes,
        params,
        body: z.looseObject({ inputs: any, outputs: any, metadata: z.record(z.string(), any).nullish() }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = changeOf({ id: params.example_id, record: body });
        const updated = await service.updateExamples(caller.workspaceId, [{ id: params.example_id, change }]);
        return json(200, toWire(updated.examples[0]!));
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/examples/{example_id}",
        operationId: "delete_example",
        summary: "Delete an example",
        tag,
        access: writes,
        params,
        responses: { 200: { description: "Deleted", schema: z.object({ message: z.string() }) } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.removeExample(caller.workspaceId, params.example_id);
        return json(200, { message: "Example deleted" });
      },
    ),
  ];
}

export function readSent(request: Request): Promise<SentExample[]> {
  const boundary = boundaryOf(request.headers.get("content-type"));
  return refuseWhole(async () => readExampleParts(parseMultipart(await readIngestBody(request), boundary)));
}

export function changeOf(sent: SentExample): ExampleChange {
  const inputs = sent.inputs ?? sent.record.inputs;
  const outputs = sent.outputs ?? sent.record.outputs;
  const { metadata, split } = sent.record;
  return {
    ...(inputs !== undefined && { inputs: JSON.stringify(inputs) }),
    ...(outputs !== undefined && { outputs: outputsText(outputs) }),
    ...(metadata !== undefined && { metadata: metadata as ExampleChange["metadata"] & object }),
    ...(split != null && { split: (Array.isArray(split) ? split : [split]).map(String) }),
  };
}

export function toWire(found: Example, attachments: Attachments = []): z.input<typeof example> {
  const { workspace_id: _workspace, inputs, outputs, ...rest } = found;
  return {
    ...rest,
    name: `#${found.id.slice(0, 8)}`,
    inputs: JSON.parse(inputs),
    outputs: outputs === null ? null : JSON.parse(outputs),
    attachment_urls: attachments.length === 0 ? null : Object.fromEntries(attachments),
  };
}

type Attachments = [string, { presigned_url: string; mime_type: string }][];
