import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { ProjectStats } from "../storage/run-stats.ts";
import type { RunPlace, RunRemoval, RunStatistics } from "../storage/run-storage.ts";
import { defaultProjectName, type Project, projectNameTaken, projectNotFound } from "./project.ts";
import {
  findProject,
  findProjectByName,
  insertProject,
  listDeletedProjects,
  listProjects,
  markProjectDeleted,
  type NewProject,
  type ProjectChange,
  type ProjectFilter,
  removeProject,
  updateProject,
} from "./project-store.ts";

const cacheMs = 10_000;
const maxCached = 10_000;
const removalBatch = 5_000;
/** What a DELETE removes before it answers; the rest goes in the background. */
const removalAtOnce = 20_000;
/** Longer than a write may wait, and than a name is remembered. */
const settleMs = 5 * 60_000;

export type ProjectServiceOptions = {
  database: Database;
  clock: Clock;
  statistics: RunStatistics;
  removal: RunRemoval;
};

export type ProjectListing = Omit<ProjectFilter, "sortBy"> & {
  sortBy?: "name" | "start_time" | "last_run_start_time";
};

/** Projects: what runs are traced into, looked up by name thousands of times a second. */
export class ProjectService {
  readonly #clock: Clock;
  readonly #sql: Sql;
  readonly #statistics: RunStatistics;
  readonly #removal: RunRemoval;
  // Ingestion asks for the same few names thousands of times a second.
  readonly #cache = new Map<string, { id: Promise<string | undefined>; until: number }>();

  constructor(options: ProjectServiceOptions) {
    this.#clock = options.clock;
    this.#sql = options.database.sql;
    this.#statistics = options.statistics;
    this.#removal = options.removal;
  }

  /** The project runs are traced into; made when it is new. */
  async projectIdOf(workspaceId: string, name: string = defaultProjectName): Promise<string> {
    const id = await this.#cached(
      `${workspaceId}/name/${name}`,
      async () => (await this.#upsert({ workspaceId, name })).id,
    );
    return id!;
  }

  /** The same for a project named by id; undefined when there is none. */
  existingProjectId(workspaceId: string, id: string): Promise<string | undefined> {
    return this.#cached(
      `${workspaceId}/id/${id}`,
      async () => (await findProject(this.#sql, workspaceId, id))?.id,
    );
  }

  async create(
    project: Omit<NewProject, "id"> & { id?: string },
    options: { upsert: boolean },
  ): Promise<Project> {
    if (!options.upsert) {
      const made = await insertProject(this.#sql, { ...project, id: project.id ?? newId() });
      return made ?? raise(projectNameTaken(project.name));
    }
    const found = await this.#upsert(project);
    if (project.id !== undefined && found.id === project.id) return found;
    const { description, extra, referenceDatasetId } = project;
    const change: ProjectChange = {
      ...(description == null ? {} : { description }),
      ...(extra == null ? {} : { extra: extra as Record<string, unknown> }),
      ...(referenceDatasetId == null ? {} : { reference_dataset_id: referenceDatasetId }),
    };
    return (await updateProject(this.#sql, project.workspaceId, found.id, change)) ?? found;
  }

  async get(workspaceId: string, id: string): Promise<Project> {
    return (await findProject(this.#sql, workspaceId, id)) ?? raise(projectNotFound(id));
  }

  async list(workspaceId: string, { sortBy, ...filter }: ProjectListing): Promise<Project[]> {
    const order =
      sortBy === "last_run_start_time"
        ? { lastStarts: await this.#statistics.lastStarts(workspaceId) }
        : sortBy;
    return await listProjects(this.#sql, workspaceId, { ...filter, ...(order && { sortBy: order }) });
  }

  stats(workspaceId: string, ids: readonly string[]): Promise<Map<string, ProjectStats>> {
    return this.#statistics.ofProjects(workspaceId, ids);
  }

  async update(workspaceId: string, id: string, change: ProjectChange): Promise<Project> {
    if (change.name !== undefined) {
      const holder = await findProjectByName(this.#sql, workspaceId, change.name);
      if (holder && holder.id !== id) throw projectNameTaken(change.name);
      this.#cache.clear();
    }
    return (await updateProject(this.#sql, workspaceId, id, change)) ?? raise(projectNotFound(id));
  }

  /** Gone for every caller at once; its runs follow, the first of them before this returns. */
  async remove(workspaceId: string, id: string): Promise<void> {
    if (!(await markProjectDeleted(this.#sql, workspaceId, id, this.#clock.now()))) throw projectNotFound(id);
    this.#cache.clear();
    try {
      await this.#purge({ workspaceId, projectId: id }, removalAtOnce);
    } catch (error) {
      // It is deleted: where runs are kept may be away, and the next sweep removes them.
      if (!(error instanceof AppError) || !error.retryable) throw error;
    }
  }

  /** Removes the remains of deleted projects. */
  async purgeDeleted(signal: AbortSignal): Promise<void> {
    for (const place of await listDeletedProjects(this.#sql)) {
      while (!(await this.#purge(place, removalAtOnce))) signal.throwIfAborted();
    }
  }

  #cached(key: string, load: () => Promise<string | undefined>): Promise<string | undefined> {
    const now = this.#clock.now().getTime();
    const known = this.#cache.get(key);
    if (known && known.until > now) return known.id;
    if (this.#cache.size >= maxCached) this.#cache.clear();
    const id = load();
    this.#cache.set(key, { id, until: now + cacheMs });
    id.then(
      (found) => found === undefined && this.#cache.delete(key),
      () => this.#cache.delete(key),
    );
    return id;
  }

  async #upsert(project: Omit<NewProject, "id"> & { id?: string }): Promise<Project> {
    const id = project.id ?? newId();
    return (
      (await insertProject(this.#sql, { ...project, id })) ??
      (await findProjectByName(this.#sql, project.workspaceId, project.name)) ??
      (await insertProject(this.#sql, { ...project, id: newId() })) ??
      raise(projectNameTaken(project.name))
    );
  }

  async #purge(place: RunPlace, limit: number): Promise<boolean> {
    for (let removed = 0; removed < limit; ) {
      const count = await this.#removal.removeOfProject(place, removalBatch);
      removed += count;
      if (count < removalBatch) {
        await this.#removal.removeFeedbackOf(place);
        await removeProject(this.#sql, place, new Date(this.#clock.now().getTime() - settleMs));
        return true;
      }
    }
    return false;
  }
}

function raise(error: Error): never {
  throw error;
}
