import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import type { AnnotationItem, AnnotationQueue, Section } from "./annotation-queue.ts";

export type NewItem = {
  id: string;
  itemType: "RUN" | "THREAD";
  runId: string | null;
  projectId: string | null;
  threadId: string | null;
  startTime: string | null;
  sourceProposedExampleId: string | null;
};

/** One that is in the queue already stays as it is. */
export async function insertItems(
  sql: Sql,
  place: { workspaceId: string; queueId: string },
  items: readonly NewItem[],
): Promise<void> {
  if (items.length === 0) return;
  const rows = items.map(
    (item) => raw`(${item.id}::uuid, ${place.queueId}::uuid, ${place.workspaceId}::uuid, ${item.itemType},
      ${item.runId}::uuid, ${item.projectId}::uuid, ${item.threadId}, ${item.startTime}::timestamptz,
      ${item.sourceProposedExampleId}::uuid, clock_timestamp())`,
  );
  await raw`
    insert into trace_annotation_items (id, queue_id, workspace_id, item_type, run_id, project_id, thread_id, start_time,
      source_proposed_example_id, added_at)
    values ${raw.join(rows)} on conflict do nothing
  `.execute(sql);
}

/** A queue, and the reviewer for whom it is read. */
export type View = { queue: AnnotationQueue; reviewer: string };

export type ItemFilter = {
  section?: Section;
  ids?: readonly string[] | undefined;
  runIds?: readonly string[] | undefined;
  threads?: readonly { projectId: string; threadId: string }[] | undefined;
  itemType?: "RUN" | "THREAD" | undefined;
  /** When it was last reviewed. */
  since?: string | undefined;
  until?: string | undefined;
};

export type ItemPage = {
  limit: number;
  offset?: number;
  after?: { addedAt: string; id: string } | undefined;
  backward?: boolean;
};

/** Items with what their reviewers did: `i` joined with `r`. */
function itemsOf({ queue, reviewer }: View): RawBuilder<unknown> {
  return raw`trace_annotation_items i
    cross join lateral (
      select count(*) filter (where s.status = 'completed')::int as completed,
        coalesce(bool_or(s.status = 'completed' and s.reviewer = ${reviewer}), false) as mine,
        coalesce(array_agg(s.reviewer::text order by s.at) filter (where s.status = 'completed'), '{}') as completed_by,
        coalesce(array_agg(s.reviewer::text order by s.at) filter (where s.status = 'viewed'
          and ${queue.enable_reservations} and s.at > now() - make_interval(mins => ${queue.reservation_minutes})), '{}') as reserved_by,
        coalesce(max(s.override_added_at) filter (where s.reviewer = ${reviewer}), i.added_at) as place
      from trace_annotation_statuses s where s.item_id = i.id
    ) r`;
}

function conditions({ queue }: View, filter: ItemFilter): RawBuilder<unknown> {
  const where: RawBuilder<unknown>[] = [
    raw`i.queue_id = ${queue.id}`,
    raw`i.workspace_id = ${queue.workspace_id}`,
  ];
  const needed = raw`${queue.num_reviewers_per_item}`;
  if (filter.section === "archived") where.push(raw`r.completed >= ${needed}`);
  if (filter.section === "needs_my_review") where.push(raw`r.completed < ${needed} and not r.mine`);
  if (filter.section === "needs_others_review") where.push(raw`r.completed < ${needed} and r.mine`);
  if (filter.ids) where.push(raw`i.id = any(${filter.ids}::uuid[])`);
  if (filter.runIds) where.push(raw`i.run_id = any(${filter.runIds}::uuid[])`);
  if (filter.threads)
    where.push(raw`(i.project_id, i.thread_id) in (select * from unnest(
      ${filter.threads.map((each) => each.projectId)}::uuid[], ${filter.threads.map((each) => each.threadId)}::text[]))`);
  if (filter.itemType) where.push(raw`i.item_type = ${filter.itemType}`);
  if (filter.since) where.push(raw`i.last_reviewed_time > ${filter.since}::timestamptz`);
  if (filter.until) where.push(raw`i.last_reviewed_time < ${filter.until}::timestamptz`);
  return raw.join(where, raw` and `);
}

const columns = raw.raw(
  `i.id, i.queue_id, i.item_type, i.run_id, i.project_id, i.thread_id, i.source_proposed_example_id,
   ${timeTextSql("i.start_time")} as start_time, ${timeTextSql("i.added_at")} as added_at,
   ${timeTextSql("r.place")} as effective_added_at, ${timeTextSql("i.last_reviewed_time")} as last_reviewed_time,
   r.completed_by, r.reserved_by`,
);

/** In the order they were added, or were put off to. */
export async function listItems(
  sql: Sql,
  view: View,
  filter: ItemFilter,
  page: ItemPage,
): Promise<AnnotationItem[]> {
  const order = raw.raw(page.backward ? "desc" : "asc");
  const comparison = raw.raw(page.backward ? "<" : ">");
  const after = page.after
    ? raw`(r.place, i.id) ${comparison} (${page.after.addedAt}::timestamptz, ${page.after.id}::uuid)`
    : raw`true`;
  const { rows } = await raw<AnnotationItem>`
    select ${columns} from ${itemsOf(view)} where ${conditions(view, filter)} and ${after}
    order by r.place ${order}, i.id ${order} limit ${page.limit} offset ${page.offset ?? 0}
  `.execute(sql);
  return page.backward ? rows.reverse() : rows;
}

export async function countItems(sql: Sql, view: View, filter: ItemFilter): Promise<number> {
  const { rows } = await raw<{ n: number }>`
    select count(*)::int as n from ${itemsOf(view)} where ${conditions(view, filter)}
  `.execute(sql);
  return rows[0]?.n ?? 0;
}

export async function updateItem(
  sql: Sql,
  queue: AnnotationQueue,
  id: string,
  change: { addedAt?: string | undefined; lastReviewedTime?: string | undefined },
): Promise<boolean> {
  const result = await raw`
    update trace_annotation_items set added_at = coalesce(${change.addedAt ?? null}::timestamptz, added_at),
      last_reviewed_time = coalesce(${change.lastReviewedTime ?? null}::timestamptz, last_reviewed_time)
    where id = ${id} and queue_id = ${queue.id} and workspace_id = ${queue.workspace_id}
  `.execute(sql);
  return (result.numAffectedRows ?? 0n) > 0n;
}

/** By their own ids, or by those of their runs: clients send either. Null: all but some. */
export async function deleteItems(
  sql: Sql,
  queue: AnnotationQueue,
  which: { ids: readonly string[] } | { allBut: readonly string[] },
): Promise<number> {
  const condition =
    "ids" in which
      ? raw`(id = any(${which.ids}::uuid[]) or run_id = any(${which.ids}::uuid[]))`
      : raw`not coalesce(run_id = any(${which.allBut}::uuid[]), false)`;
  const result = await raw`
    delete from trace_annotation_items
    where queue_id = ${queue.id} and workspace_id = ${queue.workspace_id} and ${condition}
  `.execute(sql);
  return Number(result.numAffectedRows ?? 0n);
}

/** The queue an item is in. */
export async function findQueueOfItem(
  sql: Sql,
  workspaceId: string,
  itemId: string,
): Promise<string | undefined> {
  const { rows } = await raw<{ queue_id: string }>`
    select queue_id from trace_annotation_items where id = ${itemId} and workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0]?.queue_id;
}

/** Without a status the item is shown to the reviewer as if it had never been. */
export async function setStatus(
  sql: Sql,
  itemId: string,
  reviewer: string,
  change: { status: "viewed" | "completed" | null; overrideAddedAt: string | null },
): Promise<void> {
  if (change.status === null) {
    await raw`delete from trace_annotation_statuses where item_id = ${itemId} and reviewer = ${reviewer}`.execute(
      sql,
    );
    return;
  }
  await raw`
    insert into trace_annotation_statuses (item_id, reviewer, status, override_added_at)
    values (${itemId}, ${reviewer}, ${change.status}, ${change.overrideAddedAt}::timestamptz)
    on conflict (item_id, reviewer) do update
      set status = excluded.status, override_added_at = excluded.override_added_at, at = now()
  `.execute(sql);
  if (change.status === "completed")
    await raw`update trace_annotation_items set last_reviewed_time = now() where id = ${itemId}`.execute(sql);
}
