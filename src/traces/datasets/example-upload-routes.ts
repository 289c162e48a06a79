import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { writes } from "../wire/access.ts";
import { refuseWhole } from "../wire/refused-part.ts";
import { maxSentBytes } from "../wire/request-body.ts";
import type { DatasetService } from "./dataset-service.ts";
import { changeOf, readSent, written } from "./example-request.ts";
import { toNewExample } from "./read-example.ts";

const tag = "Datasets";
const id = z.guid();
const multipart = {
  tag,
  access: writes,
  params: z.object({ dataset_id: id }),
  rawBody: true,
  maxBodyBytes: maxSentBytes,
  errors: [400, 404, 409, 413],
};

/** Examples with their attachments, as parts of one body. */
export function exampleUploadRoutes(service: DatasetService): Route[] {
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
  ];
}
