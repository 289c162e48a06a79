import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { queryList } from "../../platform/http/query.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { newId } from "../../platform/ids.ts";
import { attachmentResponse } from "../ingest/attachment-routes.ts";
import { boundaryOf, parseMultipart } from "../ingest/multipart.ts";
import { RefusedPart } from "../ingest/read-run.ts";
import { maxSentBytes, readIngestBody } from "../ingest/request-body.ts";
import type { Example } from "./dataset.ts";
import type { DatasetService } from "./dataset-service.ts";
import type { ExampleChange } from "./example-store.ts";
import { jsonQuery } from "./json-query.ts";
import { metadataOf, outputsText, readExampleParts, type SentExample, toNewExample } from "./read-example.ts";

const tag = "Datasets";
const id = z.guid();
const any = z.unknown().optional();
const write = { kind: "workspace", role: "editor" } as const;
const read = { kind: "workspace", role: "viewer" } as const;

const example = z.object({
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
    .describe("By `attachment.<name>`; the address asks for the same key as any other."),
});
const newExample = z.looseObject({
  id: id.nullish(),
  dataset_id: id,
  inputs: any,
  outputs: any,
  metadata: z.record(z.string(), any).nullish(),
});
const written = z.object({ count: z.int(), example_ids: z.array(id), as_of: z.string() });

const one = { description: "The example", schema: example };
const params = z.object({ example_id: id });
const datasetParams = z.object({ dataset_id: id });

export function exampleRoutes(service: DatasetService): Route[] {
  const withAttachments = async (request: Request, workspaceId: string, found: readonly Example[]) => {
    const ids = found.map((each) => each.id);
    const attachments = await service.attachmentsOf(workspaceId, ids);
    const { origin } = new URL(request.url);
    return found.map((each) =>
      toWire(
        each,
        attachments.get(each.id)?.map(({ name, mime_type }) => {
          const path = `/api/v1/examples/${each.id}/attachments/${encodeURIComponent(name)}`;
          return [`attachment.${name}`, { presigned_url: `${origin}${path}`, mime_type }];
        }),
      ),
    );
  };
  const multipart = {
    tag,
    access: write,
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
      async ({ c, caller, params }) => {
        const sent = await readSent(c.req.raw);
        const attachments = sent.flatMap((each) => each.attachments ?? []);
        const examples = sent.map(toNewExample);
        const ids = await service.addExamples(caller.workspaceId, params.dataset_id, examples, attachments);
        return json(201, { count: ids.length, example_ids: ids, as_of: new Date().toISOString() });
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
      async ({ c, caller, params }) => {
        await service.get(caller.workspaceId, params.dataset_id);
        const sent = await readSent(c.req.raw);
        await service.updateExamples(
          caller.workspaceId,
          sent.map((each) => ({
            id: each.id,
            change: changeOf(each),
            kept: each.kept,
            attachments: each.attachments,
          })),
        );
        return json(201, {
          count: sent.length,
          example_ids: sent.map((each) => each.id),
          as_of: new Date().toISOString(),
        });
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/platform/datasets/examples/delete",
        operationId: "delete_examples",
        summary: "Delete several examples",
        tag,
        access: write,
        body: z.looseObject({ example_ids: z.array(id).max(1_000) }),
        responses: { 200: { description: "Deleted", schema: z.object({ message: z.string() }) } },
      },
      async ({ caller, body }) => {
        await service.removeExamples(caller.workspaceId, body.example_ids);
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
        access: write,
        body: newExample,
        responses: { 200: one },
        errors: [404, 409],
      },
      async ({ caller, body }) => {
        const sent = toNewExample({ id: body.id ?? newId(), record: body });
        await service.addExamples(caller.workspaceId, body.dataset_id, [sent]);
        return json(200, toWire(await service.getExample(caller.workspaceId, sent.id)));
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/examples/bulk",
        operationId: "create_examples",
        summary: "Add examples to one dataset",
        tag,
        access: write,
        body: z.array(newExample).min(1).max(10_000),
        responses: { 200: { description: "The examples", schema: z.array(example) } },
        errors: [404, 409],
      },
      async ({ caller, body }) => {
        const datasetId = body[0]!.dataset_id;
        if (body.some((each) => each.dataset_id !== datasetId)) {
          throw invalidField(["body"], "All examples of one request must belong to the same dataset.");
        }
        const sent = body.map((record) => toNewExample({ id: record.id ?? newId(), record }));
        const ids = await service.addExamples(caller.workspaceId, datasetId, sent);
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
        access: read,
        query: z.object({
          dataset: id.optional(),
          id: queryList(id).optional(),
          splits: queryList(z.string()).optional(),
          metadata: jsonQuery.optional(),
          limit: z.coerce.number().int().min(1).max(1_000).default(100),
          offset: z.coerce.number().int().min(0).default(0),
        }),
        responses: { 200: { description: "A page of examples", schema: z.array(example) } },
      },
      async ({ c, caller, query }) => {
        const found = await service.listExamples(caller.workspaceId, {
          ...(query.dataset && { datasetId: query.dataset }),
          ...(query.id && { ids: query.id }),
          ...(query.splits && { splits: query.splits }),
          ...(query.metadata && { metadata: query.metadata }),
          limit: query.limit,
          offset: query.offset,
        });
        return json(200, await withAttachments(c.req.raw, caller.workspaceId, found));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/examples/{example_id}",
        operationId: "get_example",
        summary: "Read an example",
        tag,
        access: read,
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ c, caller, params }) => {
        const found = await service.getExample(caller.workspaceId, params.example_id);
        const [wire] = await withAttachments(c.req.raw, caller.workspaceId, [found]);
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
        access: read,
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
        access: write,
        params,
        body: z.looseObject({ inputs: any, outputs: any, metadata: z.record(z.string(), any).nullish() }),
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = changeOf({ id: params.example_id, record: body });
        const [updated] = await service.updateExamples(caller.workspaceId, [
          { id: params.example_id, change },
        ]);
        return json(200, toWire(updated!));
      },
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/examples/{example_id}",
        operationId: "delete_example",
        summary: "Delete an example",
        tag,
        access: write,
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

async function readSent(request: Request): Promise<SentExample[]> {
  const boundary = boundaryOf(request.headers.get("content-type"));
  try {
    return readExampleParts(parseMultipart(await readIngestBody(request), boundary));
  } catch (error) {
    if (error instanceof RefusedPart) throw invalidField(["body"], error.message);
    throw error;
  }
}

function changeOf(sent: SentExample): ExampleChange {
  const inputs = sent.inputs ?? sent.record.inputs;
  const outputs = sent.outputs ?? sent.record.outputs;
  const touchesMetadata = sent.record.metadata !== undefined || sent.record.split !== undefined;
  return {
    ...(inputs !== undefined && { inputs: JSON.stringify(inputs) }),
    ...(outputs !== undefined && { outputs: outputsText(outputs) }),
    ...(touchesMetadata && { metadata: metadataOf(sent.record) }),
  };
}

function toWire(found: Example, attachments: Attachments = []): z.input<typeof example> {
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
