import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type Attachment = { name: string; mime_type: string; size: number };

export async function saveAttachment(
  sql: Sql,
  attachment: { workspaceId: string; runId: string; name: string; mimeType: string; content: Buffer },
): Promise<void> {
  const { workspaceId, runId, name, mimeType, content } = attachment;
  await raw`
    insert into trace_attachments (workspace_id, run_id, name, mime_type, size, content)
    values (${workspaceId}, ${runId}, ${name}, ${mimeType}, ${content.byteLength}, ${content})
    on conflict (run_id, name, workspace_id)
    do update set mime_type = excluded.mime_type, size = excluded.size, content = excluded.content
  `.execute(sql);
}

export async function listAttachments(sql: Sql, workspaceId: string, runId: string): Promise<Attachment[]> {
  const { rows } = await raw<Attachment>`
    select name, mime_type, size from trace_attachments
    where workspace_id = ${workspaceId} and run_id = ${runId} order by name
  `.execute(sql);
  return rows;
}

/** The same of several runs, by run. */
export async function listAttachmentsOf(
  sql: Sql,
  workspaceId: string,
  runIds: readonly string[],
): Promise<Map<string, Attachment[]>> {
  if (runIds.length === 0) return new Map();
  const { rows } = await raw<Attachment & { run_id: string }>`
    select run_id, name, mime_type, size from trace_attachments
    where workspace_id = ${workspaceId} and run_id = any(${runIds}::uuid[]) order by name
  `.execute(sql);
  return Map.groupBy(rows, (row) => row.run_id);
}

export async function readAttachment(
  sql: Sql,
  workspaceId: string,
  runId: string,
  name: string,
): Promise<{ mime_type: string; content: Buffer } | undefined> {
  const { rows } = await raw<{ mime_type: string; content: Buffer }>`
    select mime_type, content from trace_attachments
    where workspace_id = ${workspaceId} and run_id = ${runId} and name = ${name}
  `.execute(sql);
  return rows[0];
}
