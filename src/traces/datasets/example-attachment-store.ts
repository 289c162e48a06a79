import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type NewExampleAttachment = { exampleId: string; name: string; mimeType: string; content: Buffer };
/** What to keep of the attachments an example has, and under which names; the others go. */
export type KeptAttachments = { retain: string[]; rename: Record<string, string> };

export async function saveExampleAttachment(
  sql: Sql,
  workspaceId: string,
  attachment: NewExampleAttachment,
): Promise<void> {
  const { exampleId, name, mimeType, content } = attachment;
  await raw`
    insert into trace_example_attachments (workspace_id, example_id, name, mime_type, size, content)
    values (${workspaceId}, ${exampleId}, ${name}, ${mimeType}, ${content.byteLength}, ${content})
    on conflict (example_id, name)
    do update set mime_type = excluded.mime_type, size = excluded.size, content = excluded.content
  `.execute(sql);
}

/** By example: the name and type of each. */
export async function listExampleAttachments(
  sql: Sql,
  workspaceId: string,
  exampleIds: readonly string[],
): Promise<Map<string, { name: string; mime_type: string }[]>> {
  const { rows } = await raw<{ example_id: string; name: string; mime_type: string }>`
    select example_id, name, mime_type from trace_example_attachments
    where example_id = any(${exampleIds}::uuid[]) and workspace_id = ${workspaceId} order by name
  `.execute(sql);
  return Map.groupBy(rows, (row) => row.example_id);
}

export async function readExampleAttachment(
  sql: Sql,
  workspaceId: string,
  exampleId: string,
  name: string,
): Promise<{ mime_type: string; content: Buffer } | undefined> {
  const { rows } = await raw<{ mime_type: string; content: Buffer }>`
    select mime_type, content from trace_example_attachments
    where example_id = ${exampleId} and name = ${name} and workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0];
}

export async function keepExampleAttachments(
  sql: Sql,
  workspaceId: string,
  exampleId: string,
  kept: KeptAttachments,
): Promise<void> {
  const names = [...kept.retain, ...Object.keys(kept.rename)];
  await raw`
    delete from trace_example_attachments
    where example_id = ${exampleId} and workspace_id = ${workspaceId} and not name = any(${names}::text[])
  `.execute(sql);
  for (const [name, renamed] of Object.entries(kept.rename)) {
    await raw`
      update trace_example_attachments set name = ${renamed}
      where example_id = ${exampleId} and workspace_id = ${workspaceId} and name = ${name}
    `.execute(sql);
  }
}
