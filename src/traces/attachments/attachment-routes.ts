import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { reads } from "../wire/access.ts";
import type { AttachmentLinks } from "./attachment-links.ts";
import { listAttachments, readAttachment } from "./attachment-store.ts";

const tag = "Tracing";
const runId = z.guid();

export function attachmentRoutes(options: {
  database: Database;
  clock: Clock;
  links: AttachmentLinks;
  /** Reads those of examples, which the folder above keeps. */
  readOfExample: typeof readAttachment;
}): Route[] {
  const { database, clock, links, readOfExample } = options;
  return [
    route(
      {
        method: "get",
        path: "/api/v1/attachments/{token}",
        operationId: "get_attachment_by_link",
        summary: "Download an attachment by its link",
        description:
          "Needs no key: the link itself is the credential. Runs and examples contain it when they are read. It is for one attachment and valid for a day.",
        tag,
        access: { kind: "open" },
        params: z.object({ token: z.string().max(4_096) }),
        responses: {
          200: { description: "The bytes as they were sent", contentType: "application/octet-stream" },
        },
        errors: [403, 404],
      },
      async ({ params }) => {
        const { workspaceId, of, id, name } = links.read(params.token, clock.now());
        const read = of === "run" ? readAttachment : readOfExample;
        const found = await read(database.sql, workspaceId, id, name);
        if (!found) throw attachmentNotFound(`The ${of} ${id}`, name);
        return attachmentResponse(found);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/runs/{run_id}/attachments",
        operationId: "list_run_attachments",
        summary: "List a run's attachments",
        tag,
        access: reads,
        params: z.object({ run_id: runId }),
        responses: {
          200: {
            description: "Name, type and size of each",
            schema: z.array(z.object({ name: z.string(), mime_type: z.string(), size: z.int() })),
          },
        },
      },
      async ({ caller, params }) =>
        json(200, await listAttachments(database.sql, caller.workspaceId, params.run_id)),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/runs/{run_id}/attachments/{name}",
        operationId: "get_run_attachment",
        summary: "Download an attachment",
        tag,
        access: reads,
        params: z.object({ run_id: runId, name: z.string() }),
        responses: {
          200: { description: "The bytes as they were sent", contentType: "application/octet-stream" },
        },
        errors: [404],
      },
      async ({ caller, params }) => {
        const found = await readAttachment(database.sql, caller.workspaceId, params.run_id, params.name);
        if (!found) throw attachmentNotFound(`Run ${params.run_id}`, params.name);
        return attachmentResponse(found);
      },
    ),
  ];
}

function attachmentNotFound(owner: string, name: string): AppError {
  return new AppError({
    code: "traces.attachment_not_found",
    kind: "not_found",
    message: `${owner} has no attachment "${name}".`,
  });
}

/** Never as its own type: a page sent as an attachment must not run on this host. */
export function attachmentResponse(found: { mime_type: string; content: Buffer }): Response {
  const headers = {
    "content-type": "application/octet-stream",
    "content-disposition": "attachment",
    "x-attachment-type": found.mime_type.replaceAll(/[^\x20-\x7e]/g, ""),
  };
  return new Response(new Uint8Array(found.content), { headers });
}
