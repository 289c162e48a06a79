import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { deleteRunsOfProject } from "../runs/run-removal-store.ts";
import {
  defaultProjectName,
  type Project,
  type ProjectStats,
  projectNameTaken,
  projectNotFound,
} from "./project.ts";
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
  readProjectStats,
  removeProject,
  updateProject,
} from "./project-store.ts";

export type ProjectService = ReturnType<typeof createProjectService>;

const cacheMs = 10_000;
const maxCached = 10_000;
const removalBatch = 5_000;
/** What a DELETE removes before it answers; the rest goes in the background. */
const removalAtOnce = 20_000;
/** Longer than a write may wait, and than a name is remembered. */
const settleMs = 5 * 60_000;

export function createProjectService(options: { database: Database; clock: Clock }) {
  const { database, clock } = options;
  const { sql } = database;
  // Ingestion asks for the same few names thousands of times a second.
  const cache = new Map<string, { id: Promise<string | undefined>; until: number }>();

  function cached(key: string, load: () => Promise<string | undefined>): Promise<string | undefined> {
    const now = clock.now().getTime();
    const known = cache.get(key);
    if (known && known.until > now) return known.id;
    if (cache.size >= maxCached) cache.clear();
    const id = load();
    cache.set(key, { id, until: now + cacheMs });
    id.then(
      (found) => found === undefined && cache.delete(key),
      () => cache.delete(key),
    );
    return id;
  }

  async function upsert(project: Omit<NewProject, "id"> & { id?: string }): Promise<Project> {
    const id = project.id ?? newId();
    return (
      (await insertProject(sql, { ...project, id })) ??
      (await findProjectByName(sql, project.workspaceId, project.name)) ??
      (await insertProject(sql, { ...project, id: newId() })) ??
      raise(projectNameTaken(project.name))
    );
  }

  async function purge(id: string, limit: number): Promise<boolean> {
    for (let removed = 0; removed < limit; ) {
      const count = await deleteRunsOfProject(sql, id, removalBatch);
      removed += count;
      if (count < removalBatch) {
        await removeProject(sql, id, new Date(clock.now().getTime() - settleMs));
        return true;
      }
    }
    return false;
  }

  return {
    /** The project runs are traced into; made when it is new. */
    async projectIdOf(workspaceId: string, name: string = defaultProjectName): Promise<string> {
      const id = await cached(
        `${workspaceId}/name/${name}`,
        async () => (await upsert({ workspaceId, name })).id,
      );
      return id!;
    },
    /** The same for a project named by id; undefined when there is none. */
    existingProjectId(workspaceId: string, id: string): Promise<string | undefined> {
      return cached(`${workspaceId}/id/${id}`, async () => (await findProject(sql, workspaceId, id))?.id);
    },

    async create(
      project: Omit<NewProject, "id"> & { id?: string },
      options: { upsert: boolean },
    ): Promise<Project> {
      if (!options.upsert) {
        const made = await insertProject(sql, { ...project, id: project.id ?? newId() });
        return made ?? raise(projectNameTaken(project.name));
      }
      const found = await upsert(project);
      if (project.id !== undefined && found.id === project.id) return found;
      const { description, extra, referenceDatasetId } = project;
      const change: ProjectChange = {
        ...(description == null ? {} : { description }),
        ...(extra == null ? {} : { extra: extra as Record<string, unknown> }),
        ...(referenceDatasetId == null ? {} : { reference_dataset_id: referenceDatasetId }),
      };
      return (await updateProject(sql, project.workspaceId, found.id, change)) ?? found;
    },

    async get(workspaceId: string, id: string): Promise<Project> {
      return (await findProject(sql, workspaceId, id)) ?? raise(projectNotFound(id));
    },
    list: (workspaceId: string, filter: ProjectFilter): Promise<Project[]> =>
      listProjects(sql, workspaceId, filter),
    stats: (ids: readonly string[]): Promise<Map<string, ProjectStats>> => readProjectStats(sql, ids),

    async update(workspaceId: string, id: string, change: ProjectChange): Promise<Project> {
      if (change.name !== undefined) {
        const holder = await findProjectByName(sql, workspaceId, change.name);
        if (holder && holder.id !== id) throw projectNameTaken(change.name);
        cache.clear();
      }
      return (await updateProject(sql, workspaceId, id, change)) ?? raise(projectNotFound(id));
    },

    /** Gone for every caller at once; its runs follow, the first of them before this returns. */
    async remove(workspaceId: string, id: string): Promise<void> {
      if (!(await markProjectDeleted(sql, workspaceId, id, clock.now()))) throw projectNotFound(id);
      cache.clear();
      await purge(id, removalAtOnce);
    },

    /** Removes what is left of deleted projects. */
    async purgeDeleted(signal: AbortSignal): Promise<void> {
      for (const id of await listDeletedProjects(sql)) {
        while (!(await purge(id, removalAtOnce))) signal.throwIfAborted();
      }
    },
  };
}

function raise(error: Error): never {
  throw error;
}
