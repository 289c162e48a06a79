import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import type { ProjectService } from "./project-service.ts";
import {
  maxSavedViews,
  type SavedView,
  type SavedViewFields,
  savedViewExists,
  savedViewNotFound,
  tooManySavedViews,
} from "./saved-view.ts";
import {
  deleteSavedView,
  findSavedView,
  insertSavedView,
  listSavedViews,
  updateSavedView,
} from "./saved-view-store.ts";

type Options = { database: Database; clock: Clock; projects: Pick<ProjectService, "get"> };
type Where = Pick<Caller, "workspaceId" | "userId">;

/** The views of a project's runs that a workspace shares. */
export class SavedViews {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  async list({ workspaceId }: Where, projectId: string): Promise<SavedView[]> {
    await this.#options.projects.get(workspaceId, projectId);
    return listSavedViews(this.#options.database.sql, workspaceId, projectId);
  }

  async create(caller: Where, projectId: string, fields: SavedViewFields): Promise<SavedView> {
    const { database, clock } = this.#options;
    if ((await this.list(caller, projectId)).length >= maxSavedViews) throw tooManySavedViews();
    const now = clock.now();
    const view: SavedView = {
      ...fields,
      id: newId(),
      workspace_id: caller.workspaceId,
      project_id: projectId,
      created_by: caller.userId,
      created_at: now,
      updated_at: now,
    };
    await named(view.name, insertSavedView(database.sql, view));
    return view;
  }

  async change(
    { workspaceId }: Where,
    projectId: string,
    id: string,
    fields: Partial<SavedViewFields>,
  ): Promise<SavedView> {
    const { database, clock } = this.#options;
    return database.transaction(async (tx) => {
      const found = await findSavedView(tx, workspaceId, projectId, id);
      if (!found) throw savedViewNotFound(id);
      const view = { ...found, ...fields, updated_at: clock.now() };
      await named(view.name, updateSavedView(tx, view));
      return view;
    });
  }

  async remove({ workspaceId }: Where, projectId: string, id: string): Promise<void> {
    if (!(await deleteSavedView(this.#options.database.sql, workspaceId, projectId, id)))
      throw savedViewNotFound(id);
  }
}

async function named(name: string, written: Promise<void>): Promise<void> {
  try {
    await written;
  } catch (error) {
    if (sqlState(error) === "23505") throw savedViewExists(name);
    throw error;
  }
}
