import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import type { ProjectService } from "../projects/project-service.ts";
import { notInPlace, runNotFound } from "../query/run-errors.ts";
import { columnsOf, readSelect, writeRun } from "../query/run-view.ts";
import type { RunRow } from "../storage/run-query.ts";
import type { RunReading } from "../storage/run-storage.ts";
import {
  countItems,
  deleteItems,
  findQueueOfItem,
  type ItemFilter,
  type ItemPage,
  insertItems,
  listItems,
  setStatus,
  updateItem,
} from "./annotation-item-store.ts";
import {
  type AnnotationItem,
  type AnnotationQueue,
  itemNotFound,
  queueNotFound,
  type Section,
  sections,
} from "./annotation-queue.ts";
import {
  deleteQueue,
  findQueue,
  insertQueue,
  listQueues,
  type QueueChange,
  type QueueFilter,
  updateQueue,
} from "./annotation-queue-store.ts";

export type Reviewer = { workspaceId: string; userId: string };
export type AddedItem =
  | {
      kind: "run";
      runId: string;
      /** Where the caller believes it is. */
      projectId?: string | null | undefined;
      sourceProposedExampleId?: string | null | undefined;
    }
  | { kind: "thread"; projectId: string; threadId: string };

const maxItems = 10_000;
const atOnce = 1_000;

export type AnnotationServiceOptions = {
  database: Database;
  runs: RunReading;
  datasets: Pick<DatasetService, "get">;
  projects: Pick<ProjectService, "get">;
};

/** Queues of runs and threads that people review, and the state of each item for each reviewer. */
export class AnnotationService {
  readonly #database: Database;
  readonly #runs: RunReading;
  readonly #datasets: Pick<DatasetService, "get">;
  readonly #projects: Pick<ProjectService, "get">;
  readonly #sql: Sql;

  constructor(options: AnnotationServiceOptions) {
    this.#database = options.database;
    this.#runs = options.runs;
    this.#datasets = options.datasets;
    this.#projects = options.projects;
    this.#sql = options.database.sql;
  }

  async get(workspaceId: string, id: string): Promise<AnnotationQueue> {
    const found = await findQueue(this.#sql, workspaceId, id);
    if (!found) throw queueNotFound(id);
    return found;
  }

  /** All of them, or none. What is in the queue already is among the answer. */
  async add(reviewer: Reviewer, queueId: string, added: readonly AddedItem[]): Promise<AnnotationItem[]> {
    const view = await this.#viewOf(reviewer, queueId);
    const { workspaceId } = reviewer;
    const threads = added.flatMap((item) => (item.kind === "thread" ? [item] : []));
    for (const projectId of new Set(threads.map((item) => item.projectId)))
      await this.#projects.get(workspaceId, projectId);
    const runIds = added.flatMap((item) => (item.kind === "run" ? [item.runId] : []));
    const runs = await this.#runsOf(workspaceId, runIds, ["id", "session_id", "start_time"]);
    for (const item of added) {
      if (item.kind === "thread") continue;
      const found = runs.get(item.runId);
      if (!found) throw runNotFound(item.runId);
      if (item.projectId && item.projectId !== found.session_id) throw notInPlace(item.runId, "project");
    }
    const items = added.map((item) => ({
      id: newId(),
      itemType: item.kind === "run" ? ("RUN" as const) : ("THREAD" as const),
      runId: item.kind === "run" ? item.runId : null,
      projectId: item.kind === "run" ? (runs.get(item.runId)!.session_id ?? null) : item.projectId,
      threadId: item.kind === "thread" ? item.threadId : null,
      startTime: item.kind === "run" ? runs.get(item.runId)!.start_time : null,
      sourceProposedExampleId: (item.kind === "run" && item.sourceProposedExampleId) || null,
    }));
    await this.#database.transaction((tx) => insertItems(tx, { workspaceId, queueId }, items));
    const page = { limit: maxItems };
    return [
      ...(runIds.length > 0 ? await listItems(this.#sql, view, { runIds }, page) : []),
      ...(threads.length > 0 ? await listItems(this.#sql, view, { threads }, page) : []),
    ];
  }

  /** With the roots of projects in it. */
  async create(
    reviewer: Reviewer,
    queue: QueueChange & { id?: string | undefined; name: string },
    projectIds: string[],
  ) {
    const { workspaceId } = reviewer;
    if (queue.default_dataset) await this.#datasets.get(workspaceId, queue.default_dataset);
    const roots = await this.#rootsOf(workspaceId, projectIds);
    const made = await insertQueue(this.#sql, { ...queue, workspaceId, id: queue.id ?? newId() });
    if (made) {
      await this.#addInParts(reviewer, made.id, roots);
      return this.get(workspaceId, made.id);
    }
    throw new AppError({
      code: "traces.annotation_queue_exists",
      kind: "conflict",
      message: "An annotation queue with this id already exists. Send another id, or none.",
    });
  }

  list(workspaceId: string, filter: QueueFilter) {
    return listQueues(this.#sql, workspaceId, filter);
  }

  async update(workspaceId: string, id: string, change: QueueChange) {
    if (change.default_dataset) await this.#datasets.get(workspaceId, change.default_dataset);
    const updated = await updateQueue(this.#sql, workspaceId, id, change);
    if (!updated) throw queueNotFound(id);
    return updated;
  }

  async remove(workspaceId: string, id: string): Promise<void> {
    if (!(await deleteQueue(this.#sql, workspaceId, id))) throw queueNotFound(id);
  }

  /** The roots of experiments. How many there were. */
  async populate(reviewer: Reviewer, queueId: string, projectIds: string[]): Promise<number> {
    await this.get(reviewer.workspaceId, queueId);
    const roots = await this.#rootsOf(reviewer.workspaceId, projectIds);
    await this.#addInParts(reviewer, queueId, roots);
    return roots.length;
  }

  async items(reviewer: Reviewer, queueId: string, filter: ItemFilter, page: ItemPage) {
    return listItems(this.#sql, await this.#viewOf(reviewer, queueId), filter, page);
  }

  async count(reviewer: Reviewer, queueId: string, filter: ItemFilter): Promise<number> {
    return countItems(this.#sql, await this.#viewOf(reviewer, queueId), filter);
  }

  /** The section an item is in, and how many come before it there. */
  async placement(reviewer: Reviewer, queueId: string, itemId: string) {
    const view = await this.#viewOf(reviewer, queueId);
    for (const section of sections) {
      const found = await listItems(this.#sql, view, { section }, { limit: maxItems });
      const position = found.findIndex((item) => item.id === itemId);
      if (position !== -1) return { item: found[position]!, section, position };
    }
    throw itemNotFound(itemId);
  }

  async change(reviewer: Reviewer, queueId: string, id: string, change: Parameters<typeof updateItem>[3]) {
    const view = await this.#viewOf(reviewer, queueId);
    if (!(await updateItem(this.#sql, view.queue, id, change))) throw itemNotFound(id);
    return (await listItems(this.#sql, view, { ids: [id] }, { limit: 1 }))[0]!;
  }

  async removeItems(workspaceId: string, queueId: string, which: Parameters<typeof deleteItems>[2]) {
    return deleteItems(this.#sql, await this.get(workspaceId, queueId), which);
  }

  /** What the reviewer did with an item, and whether it is done with that. */
  async setStatus(
    reviewer: Reviewer,
    itemId: string,
    change: Parameters<typeof setStatus>[3],
  ): Promise<boolean> {
    const queueId = await findQueueOfItem(this.#sql, reviewer.workspaceId, itemId);
    if (!queueId) throw itemNotFound(itemId);
    await this.#database.transaction((tx) => setStatus(tx, itemId, reviewer.userId, change));
    const filter = { ids: [itemId], section: "archived" as Section };
    return (await this.count(reviewer, queueId, filter)) > 0;
  }

  /** Runs with where they stand in the queue, as JSON texts; items whose run is gone are left out. */
  async writeRuns(
    workspaceId: string,
    items: readonly AnnotationItem[],
    without: readonly string[] = [],
  ): Promise<string[]> {
    const names = readSelect(null).filter((name) => !without.includes(name));
    const ids = items.flatMap((item) => (item.run_id === null ? [] : [item.run_id]));
    const runs = await this.#runsOf(workspaceId, ids, names);
    return items.flatMap((item) => {
      const row = item.run_id === null ? undefined : runs.get(item.run_id);
      if (!row) return [];
      const { added_at, effective_added_at, last_reviewed_time, completed_by, reserved_by } = item;
      const more = JSON.stringify({
        queue_run_id: item.id,
        source_proposed_example_id: item.source_proposed_example_id,
        added_at,
        effective_added_at,
        last_reviewed_time,
        completed_by,
        reserved_by,
      });
      return [`${writeRun(row, names).slice(0, -1)},${more.slice(1)}`];
    });
  }

  async #viewOf(reviewer: Reviewer, queueId: string) {
    return { queue: await this.get(reviewer.workspaceId, queueId), reviewer: reviewer.userId };
  }

  async #runsOf(workspaceId: string, ids: readonly string[], names: readonly string[]) {
    const found = new Map<string, RunRow>();
    for (let from = 0; from < ids.length; from += atOnce) {
      const query = { workspaceId, ids: ids.slice(from, from + atOnce) };
      const page = { limit: atOnce, order: "desc" } as const;
      const { rows } = await this.#runs.find(query, page, columnsOf(names));
      for (const row of rows) found.set(row.id, row);
    }
    return found;
  }

  /** The roots of projects, as items. */
  async #rootsOf(workspaceId: string, projectIds: string[]): Promise<AddedItem[]> {
    for (const projectId of projectIds) await this.#projects.get(workspaceId, projectId);
    if (projectIds.length === 0) return [];
    const query = { workspaceId, projectIds, isRoot: true };
    const page = { limit: maxItems, order: "asc" } as const;
    const { rows, next } = await this.#runs.find(query, page, new Set(["id"]));
    if (!next) return rows.map(({ id }) => ({ kind: "run", runId: id }));
    throw new AppError({
      code: "traces.too_many_items",
      kind: "too_large",
      message: `These projects have more than ${maxItems} traces. Add them in parts, by their runs.`,
    });
  }

  async #addInParts(reviewer: Reviewer, queueId: string, items: readonly AddedItem[]) {
    for (let from = 0; from < items.length; from += atOnce)
      await this.add(reviewer, queueId, items.slice(from, from + atOnce));
  }
}
