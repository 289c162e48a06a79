import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { AttachmentLinks } from "../attachments/attachment-links.ts";
import type { Example } from "./dataset.ts";
import type { DatasetService } from "./dataset-service.ts";

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
    .describe("By `attachment.<name>`; everyone with the URL can read it for a day, without a key."),
});

/** What the examples of an answer are written with: those of them that have attachments bring links to them. */
export type ExampleViewOptions = { service: DatasetService; links: AttachmentLinks; clock: Clock };

export type Attachments = [string, { presigned_url: string; mime_type: string }][];

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

export async function withAttachments(
  { service, links, clock }: ExampleViewOptions,
  request: Request,
  workspaceId: string,
  found: readonly Example[],
): Promise<z.input<typeof example>[]> {
  const ids = found.map((each) => each.id);
  const attachments = await service.attachmentsOf(workspaceId, ids);
  const { origin } = new URL(request.url);
  return found.map((each) =>
    toWire(
      each,
      attachments.get(each.id)?.map(({ name, mime_type }) => {
        const place = { workspaceId, of: "example", id: each.id, name } as const;
        return [`attachment.${name}`, { presigned_url: links.urlOf(origin, place, clock.now()), mime_type }];
      }),
    ),
  );
}
