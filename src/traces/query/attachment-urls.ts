import type { Clock } from "../../platform/clock.ts";
import type { AttachmentLinks } from "../attachments/attachment-links.ts";
import { listAttachmentsOf } from "../attachments/attachment-store.ts";
import type { BoundedRead } from "../storage/bounded-read.ts";

export type AttachmentUrlsOptions = { read: BoundedRead; clock: Clock; links: AttachmentLinks };

/** By run, where clients look for the attachments: links that need no key. */
export async function attachmentUrls(
  { read, clock, links }: AttachmentUrlsOptions,
  request: Request,
  workspaceId: string,
  ids: readonly string[],
) {
  const found = await read((sql) => listAttachmentsOf(sql, workspaceId, ids));
  const { origin } = new URL(request.url);
  return new Map(
    [...found].map(([id, attachments]) => {
      const entries = attachments.map(({ name, mime_type, size }) => {
        const place = { workspaceId, of: "run", id, name } as const;
        const presigned_url = links.urlOf(origin, place, clock.now());
        return [`attachment.${name}`, { presigned_url, mime_type, size }] as const;
      });
      return [id, Object.fromEntries(entries)] as const;
    }),
  );
}
