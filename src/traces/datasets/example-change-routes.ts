import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { newId } from "../../platform/ids.ts";
import { writes } from "../wire/access.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import { changeOf } from "./example-request.ts";
import { type ExampleViewOptions, example, toWire, withAttachments } from "./example-view.ts";
import { toNewExample } from "./read-example.ts";

const tag = "Datasets";
const id = z.guid();
const any = z.unknown().optional();
const newExample = z.looseObject({
  id: id.nullish(),
  dataset_id: id,
  inputs: any,
  outputs: any,
  metadata: z.record(z.string(), any).nullish(),
  source_run_id: id.nullish(),
  use_source_run_io: z.boolean().nullish().describe("Copy inputs and outputs from the source run."),
  use_source_run_attachments: z.array(z.string()).nullish(),
});
const one = { description: "The example", schema: example };
const params = z.object({ example_id: id });

/** Adding, changing and deleting examples as JSON. */
export function exampleChangeRoutes(options: ExampleViewOptions): Route[] {
  const { service } = options;
  return [
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
        const [wire] = await withAttachments(options, request, caller.workspaceId, [made]);
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
