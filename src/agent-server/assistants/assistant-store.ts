import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import type { Assistant, AssistantVersion } from "./assistant.ts";
import type { AssistantSearch, VersionSearch } from "./assistant-schemas.ts";

const columns = raw.raw(
  "assistant_id, graph_id, config, context, metadata, name, description, version, created_at, updated_at",
);
const versionColumns = raw.raw(
  "assistant_id, graph_id, config, context, metadata, name, description, version, created_at",
);

export type NewAssistant = Pick<
  Assistant,
  "assistant_id" | "graph_id" | "config" | "context" | "metadata" | "name" | "description"
> & { workspaceId: string };

const jsonb = (value: unknown) => raw`${JSON.stringify(value)}::jsonb`;

/** Null when the id is taken. */
export async function insertAssistant(sql: Sql, row: NewAssistant): Promise<Assistant | null> {
  const { rows } = await raw<Assistant>`insert into assistants
      (workspace_id, assistant_id, graph_id, config, context, metadata, name, description)
    values (${row.workspaceId}, ${row.assistant_id}, ${row.graph_id}, ${jsonb(row.config)}, ${jsonb(row.context)},
      ${jsonb(row.metadata)}, ${row.name}, ${row.description})
    on conflict do nothing
    returning ${columns}`.execute(sql);
  return rows[0] ?? null;
}

/** Keeps what the assistant is now as one of its versions. */
export async function insertVersion(sql: Sql, workspaceId: string, assistantId: string): Promise<void> {
  await raw`insert into assistant_versions
      (workspace_id, assistant_id, version, graph_id, config, context, metadata, name, description)
    select workspace_id, assistant_id, version, graph_id, config, context, metadata, name, description
    from assistants where workspace_id = ${workspaceId} and assistant_id = ${assistantId}`.execute(sql);
}

export async function findAssistant(
  sql: Sql,
  workspaceId: string,
  assistantId: string,
  condition: RawBuilder<unknown> = raw`true`,
): Promise<Assistant | null> {
  const { rows } = await raw<Assistant>`select ${columns} from assistants
    where workspace_id = ${workspaceId} and assistant_id = ${assistantId} and ${condition}`.execute(sql);
  return rows[0] ?? null;
}

/** The row, locked, so that two changes of one assistant follow each other. */
export async function lockAssistant(
  sql: Sql,
  workspaceId: string,
  assistantId: string,
): Promise<Assistant | null> {
  const { rows } = await raw<Assistant>`select ${columns} from assistants
    where workspace_id = ${workspaceId} and assistant_id = ${assistantId} for update`.execute(sql);
  return rows[0] ?? null;
}

export async function highestVersion(sql: Sql, workspaceId: string, assistantId: string): Promise<number> {
  const { rows } = await raw<{ version: number }>`select coalesce(max(version), 0) as version
    from assistant_versions
    where workspace_id = ${workspaceId} and assistant_id = ${assistantId}`.execute(sql);
  return rows[0]!.version;
}

export async function saveAssistant(
  sql: Sql,
  workspaceId: string,
  assistant: AssistantVersion,
): Promise<Assistant> {
  const { rows } = await raw<Assistant>`update assistants set graph_id = ${assistant.graph_id},
      config = ${jsonb(assistant.config)}, context = ${jsonb(assistant.context)},
      metadata = ${jsonb(assistant.metadata)}, name = ${assistant.name}, description = ${assistant.description},
      version = ${assistant.version}, updated_at = now()
    where workspace_id = ${workspaceId} and assistant_id = ${assistant.assistant_id}
    returning ${columns}`.execute(sql);
  return rows[0]!;
}

export type AssistantFilter = Pick<AssistantSearch, "metadata" | "graph_id" | "name"> & {
  workspaceId: string;
  /** Conditions of a custom auth handler, already as SQL. */
  condition?: RawBuilder<unknown> | undefined;
};

function whereOf(filter: AssistantFilter): RawBuilder<unknown> {
  const parts = [raw`workspace_id = ${filter.workspaceId}`];
  if (filter.metadata && Object.keys(filter.metadata).length > 0) {
    parts.push(raw`metadata @> ${jsonb(filter.metadata)}`);
  }
  if (filter.graph_id) parts.push(raw`graph_id = ${filter.graph_id}`);
  // Not `like`: a name may well hold % and _.
  if (filter.name) parts.push(raw`position(lower(${filter.name}) in lower(name)) > 0`);
  if (filter.condition) parts.push(filter.condition);
  return raw.join(parts, raw` and `);
}

export async function searchAssistants(
  sql: Sql,
  filter: AssistantFilter,
  page: Pick<AssistantSearch, "limit" | "offset" | "sort_by" | "sort_order">,
): Promise<{ rows: Assistant[]; total: number }> {
  const by = raw.raw(page.sort_by ?? "created_at");
  const order = raw.raw(page.sort_order ?? "desc");
  const [{ rows }, total] = await Promise.all([
    raw<Assistant>`select ${columns} from assistants where ${whereOf(filter)}
      order by ${by} ${order}, assistant_id ${order} limit ${page.limit} offset ${page.offset}`.execute(sql),
    countAssistants(sql, filter),
  ]);
  return { rows, total };
}

export async function countAssistants(sql: Sql, filter: AssistantFilter): Promise<number> {
  const { rows } = await raw<{ count: number }>`select count(*)::int as count from assistants
    where ${whereOf(filter)}`.execute(sql);
  return rows[0]!.count;
}

export type AssistantName = Pick<Assistant, "assistant_id" | "graph_id" | "name" | "description">;

/** All assistants of a workspace, oldest first. */
export async function listAssistantNames(
  sql: Sql,
  workspaceId: string,
  condition: RawBuilder<unknown> = raw`true`,
): Promise<AssistantName[]> {
  const { rows } = await raw<AssistantName>`select assistant_id, graph_id, name, description from assistants
    where workspace_id = ${workspaceId} and ${condition} order by created_at, assistant_id`.execute(sql);
  return rows;
}

/** Newest first. */
export async function listVersions(
  sql: Sql,
  workspaceId: string,
  assistantId: string,
  search: VersionSearch,
): Promise<AssistantVersion[]> {
  const { rows } = await raw<AssistantVersion>`select ${versionColumns} from assistant_versions
    where workspace_id = ${workspaceId} and assistant_id = ${assistantId}
      and metadata @> ${jsonb(search.metadata ?? {})}
    order by version desc limit ${search.limit} offset ${search.offset}`.execute(sql);
  return rows;
}

export async function findVersion(
  sql: Sql,
  workspaceId: string,
  assistantId: string,
  version: number,
): Promise<AssistantVersion | null> {
  const { rows } = await raw<AssistantVersion>`select ${versionColumns} from assistant_versions
    where workspace_id = ${workspaceId} and assistant_id = ${assistantId} and version = ${version}`.execute(
    sql,
  );
  return rows[0] ?? null;
}

export async function findActiveRunsOf(
  sql: Sql,
  workspaceId: string,
  assistantId: string,
): Promise<{ run_id: string; thread_id: string }[]> {
  const { rows } = await raw<{ run_id: string; thread_id: string }>`select run_id, thread_id from runs
    where workspace_id = ${workspaceId} and assistant_id = ${assistantId}
      and status in ('pending', 'running')`.execute(sql);
  return rows;
}

/** Threads an assistant was the last to run on. */
export async function findThreadsOf(
  sql: Sql,
  workspaceId: string,
  assistantId: string,
  condition: RawBuilder<unknown> = raw`true`,
): Promise<string[]> {
  const { rows } = await raw<{ thread_id: string }>`select thread_id from threads
    where workspace_id = ${workspaceId} and metadata @> ${jsonb({ assistant_id: assistantId })}
      and ${condition}`.execute(sql);
  return rows.map((row) => row.thread_id);
}

/** With its versions and the runs that are over. The threads keep their state. */
export async function deleteAssistant(sql: Sql, workspaceId: string, assistantId: string): Promise<boolean> {
  const { rows } = await raw`delete from assistants
    where workspace_id = ${workspaceId} and assistant_id = ${assistantId} returning assistant_id`.execute(
    sql,
  );
  await raw`with gone as (
      delete from runs where workspace_id = ${workspaceId} and assistant_id = ${assistantId}
        and status not in ('pending', 'running')
      returning run_id
    )
    delete from thread_events where run_id in (select run_id from gone)`.execute(sql);
  return rows.length > 0;
}
