import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { isUuid } from "../../platform/ids.ts";
import { invalidParams } from "../json-rpc/json-rpc.ts";
import type { TaskState } from "./a2a-task.ts";

/** On every run that another agent began or resumed. */
export const taskMark = "a2a_task";
/** The key under which a run that resumes a task names it. */
export const taskKey = "a2a_task_id";

/**
 * A task is the run it began with, and every run that resumed it since. Null when the workspace has no such run;
 * otherwise the latest run of the task, and the newest run of its thread.
 */
export async function findTaskRun(
  sql: Sql,
  workspaceId: string,
  taskId: string,
): Promise<{ latest: string; newest: string } | null> {
  const { rows } = await raw<{ latest: string; newest: string }>`select
      (select run_id from runs l where l.thread_id = r.thread_id
        and (l.run_id = r.run_id or l.metadata ->> ${taskKey} = r.run_id::text)
        order by l.created_at desc, l.run_id desc limit 1) as latest,
      (select run_id from runs n where n.thread_id = r.thread_id
        order by n.created_at desc, n.run_id desc limit 1) as newest
    from runs r where r.run_id = ${taskId} and r.workspace_id = ${workspaceId}`.execute(sql);
  return rows[0] ?? null;
}

export type TaskListQuery = {
  workspaceId: string;
  assistantId: string;
  contextId: string | null;
  state: TaskState | null;
  updatedAfter: string | null;
  pageSize: number;
  pageToken: string | null;
  /** What the thread of a task must fulfil; undefined restricts nothing. */
  threadCondition: RawBuilder<unknown> | undefined;
};

/** A newer run exists on the thread, so this task's question will not be answered. */
const passedOver = `exists (select 1 from runs n where n.thread_id = l.thread_id
  and (n.created_at, n.run_id) > (l.created_at, l.run_id))`;

/** As in `taskStateOf`; a question that a newer run passed over counts as canceled in a query by state. */
const conditions: Record<TaskState, string> = {
  submitted: "l.status = 'pending'",
  working: "l.status = 'running'",
  completed: "l.status = 'success'",
  failed: "l.status in ('error', 'timeout')",
  canceled: `l.status = 'interrupted' and (l.cancel_action is not null or l.started_at is null or ${passedOver})`,
  "input-required": `l.status = 'interrupted' and l.cancel_action is null and l.started_at is not null
    and not ${passedOver}`,
  unknown: "false",
};

const taskOf = "coalesce(l.metadata ->> 'a2a_task_id', l.run_id::text)";

/** Tasks by the latest of their runs, newest change first; `next` is empty on the last page. */
export async function listTaskRuns(
  sql: Sql,
  query: TaskListQuery,
): Promise<{ taskIds: string[]; next: string; total: number }> {
  const cursor = query.pageToken === null ? null : readPageToken(query.pageToken);
  const matching = raw`l.workspace_id = ${query.workspaceId} and l.assistant_id = ${query.assistantId}
    and (l.metadata ->> 'a2a_task') is not null
    and (${query.contextId}::uuid is null or l.thread_id = ${query.contextId}::uuid)
    and (${query.updatedAfter}::timestamptz is null or l.updated_at >= ${query.updatedAfter}::timestamptz)
    and ${raw.raw(query.state ? conditions[query.state] : "true")}
    and ${query.threadCondition ? raw`exists (select 1 from threads where thread_id = l.thread_id and ${query.threadCondition})` : raw`true`}
    and not exists (select 1 from runs n where n.thread_id = l.thread_id
      and n.metadata ->> 'a2a_task_id' = ${raw.raw(taskOf)} and (n.created_at, n.run_id) > (l.created_at, l.run_id))`;
  const { rows } = await raw<{ task_id: string; run_id: string; at: string }>`select
      ${raw.raw(taskOf)} as task_id, l.run_id, l.updated_at::text as at from runs l
    where ${matching}
      and (${cursor?.at ?? null}::timestamptz is null
        or (l.updated_at, l.run_id) < (${cursor?.at ?? null}::timestamptz, ${cursor?.runId ?? null}::uuid))
    order by l.updated_at desc, l.run_id desc limit ${query.pageSize + 1}`.execute(sql);
  const { rows: counted } = await raw<{ total: number }>`select count(*)::int as total from runs l
    where ${matching}`.execute(sql);
  const page = rows.slice(0, query.pageSize);
  const last = page.at(-1);
  const next = rows.length > page.length && last ? pageToken(last.at, last.run_id) : "";
  return { taskIds: page.map((row) => row.task_id), next, total: counted[0]!.total };
}

function pageToken(at: string, runId: string): string {
  return Buffer.from(JSON.stringify([at, runId])).toString("base64url");
}

function readPageToken(text: string): { at: string; runId: string } {
  try {
    const [at, runId] = JSON.parse(Buffer.from(text, "base64url").toString()) as unknown[];
    if (typeof at === "string" && isTime(at) && typeof runId === "string" && isUuid(runId))
      return { at, runId };
  } catch {
    // Not one of ours, like any other text.
  }
  throw invalidParams("Invalid params: pageToken: is not one that this agent returned.");
}

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text)) && text.length < 60;
}
