import type { Database } from "../../platform/db/database.ts";
import type { RawBuilder } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { DrawnGraph, GraphSchemas } from "../graphs/graph-description.ts";
import type { RunnableGraphs } from "../graphs/graph-registry.ts";
import type { RunnableGraph } from "../graphs/graph-runtime.ts";
import type { CatalogSchemas, SchemaCatalog } from "../graphs/schema-catalog.ts";
import {
  type Assistant,
  type AssistantChange,
  type AssistantVersion,
  assistantNotFound,
  changeAssistant,
  defaultAssistantId,
  resolveAssistantId,
} from "./assistant.ts";
import type { VersionSearch } from "./assistant-schemas.ts";
import {
  deleteAssistant,
  findActiveRunsOf,
  findAssistant,
  findThreadsOf,
  findVersion,
  highestVersion,
  insertAssistant,
  insertVersion,
  listVersions,
  lockAssistant,
  type NewAssistant,
  saveAssistant,
} from "./assistant-store.ts";

/** Given what an assistant sets under `configurable` and `context`. */
export type CheckSettings = (graphId: string, settings: Readonly<Record<string, unknown>>) => void;

export type AssistantServiceOptions = {
  database: Database;
  graphs: RunnableGraphs;
  schemas: Pick<SchemaCatalog, "get" | "atRunTime">;
  /** Makes sure the default assistants of a workspace exist. */
  ensureDefaults(workspaceId: string): Promise<void>;
  checkSettings?: CheckSettings | undefined;
  /** Its runs are stopped before an assistant goes. */
  runs: {
    cancelMany(workspaceId: string, filter: { runIds: string[] }, action: "interrupt"): Promise<unknown>;
    waitForEnd(threadId: string, runId: string, signal: AbortSignal): Promise<void>;
  };
  removeThreads(workspaceId: string, threadIds: string[]): Promise<unknown>;
};

/** How long a graph may take to stop a run whose assistant is deleted. */
const stopMs = 60_000;

/** Use cases of assistants: a graph with a configuration, a name and a history of versions. */
export class AssistantService {
  readonly #options: AssistantServiceOptions;

  constructor(options: AssistantServiceOptions) {
    this.#options = options;
  }

  ensureDefaults(workspaceId: string): Promise<void> {
    return this.#options.ensureDefaults(workspaceId);
  }

  async create(
    workspaceId: string,
    request: Omit<NewAssistant, "workspaceId" | "assistant_id"> & {
      assistantId: string | undefined;
      ifExists: "raise" | "do_nothing";
      /** What an existing assistant must fulfil to be the caller's. */
      condition?: RawBuilder<unknown> | undefined;
    },
  ): Promise<Assistant> {
    const { database } = this.#options;
    await this.ensureDefaults(workspaceId);
    this.#requireGraph(request.graph_id);
    this.#checkSettings(request.graph_id, request);
    const assistantId = request.assistantId ?? newId();
    const made = await database.transaction(async (tx) => {
      const row = await insertAssistant(tx, { ...request, workspaceId, assistant_id: assistantId });
      if (row) await insertVersion(tx, workspaceId, assistantId);
      return row;
    });
    if (made) return made;
    if (request.ifExists === "do_nothing") {
      const existing = await findAssistant(database.sql, workspaceId, assistantId, request.condition);
      if (existing) return existing;
    }
    throw new AppError({
      code: "assistant.exists",
      kind: "conflict",
      message: `Assistant already exists: ${assistantId}. Choose another id, or send if_exists "do_nothing" to get it.`,
    });
  }

  /** By its id, or by a graph's id for the default assistant of that graph. */
  async get(workspaceId: string, id: string): Promise<Assistant> {
    await this.ensureDefaults(workspaceId);
    const assistantId = resolveAssistantId(this.#options.graphs, id);
    const assistant = await findAssistant(this.#options.database.sql, workspaceId, assistantId);
    if (!assistant) throw assistantNotFound(id);
    return assistant;
  }

  /** Every change is a new version. */
  async change(workspaceId: string, id: string, change: AssistantChange): Promise<Assistant> {
    await this.ensureDefaults(workspaceId);
    const assistantId = resolveAssistantId(this.#options.graphs, id);
    if (change.graph_id !== undefined) this.#requireGraph(change.graph_id);
    return this.#options.database.transaction(async (tx) => {
      const assistant = await lockAssistant(tx, workspaceId, assistantId);
      if (!assistant) throw assistantNotFound(id);
      this.#checkSettings(change.graph_id ?? assistant.graph_id, change);
      const version = (await highestVersion(tx, workspaceId, assistantId)) + 1;
      const saved = await saveAssistant(tx, workspaceId, { ...changeAssistant(assistant, change), version });
      await insertVersion(tx, workspaceId, assistantId);
      return saved;
    });
  }

  async versions(workspaceId: string, id: string, search: VersionSearch): Promise<AssistantVersion[]> {
    const { assistant_id } = await this.get(workspaceId, id);
    return listVersions(this.#options.database.sql, workspaceId, assistant_id, search);
  }

  /** Brings a version back as what the assistant is now; the others stay. */
  async setLatest(workspaceId: string, id: string, version: number): Promise<Assistant> {
    await this.ensureDefaults(workspaceId);
    const assistantId = resolveAssistantId(this.#options.graphs, id);
    return this.#options.database.transaction(async (tx) => {
      if (!(await lockAssistant(tx, workspaceId, assistantId))) throw assistantNotFound(id);
      const found = await findVersion(tx, workspaceId, assistantId, version);
      if (!found) {
        throw new AppError({
          code: "assistant.version_not_found",
          kind: "not_found",
          message: `Assistant version not found: ${assistantId} has no version ${version}.`,
        });
      }
      return saveAssistant(tx, workspaceId, found);
    });
  }

  /** `condition` restricts which threads the caller may delete. */
  async remove(
    workspaceId: string,
    id: string,
    options: { deleteThreads: boolean; condition?: RawBuilder<unknown> | undefined },
  ): Promise<string> {
    const { database } = this.#options;
    const { assistant_id } = await this.get(workspaceId, id);
    this.#refuseDefault(assistant_id);
    await this.#stopRuns(workspaceId, assistant_id);
    if (options.deleteThreads) {
      const threadIds = await findThreadsOf(database.sql, workspaceId, assistant_id, options.condition);
      if (threadIds.length > 0) await this.#options.removeThreads(workspaceId, threadIds);
    }
    const gone = await database.transaction((tx) => deleteAssistant(tx, workspaceId, assistant_id));
    if (!gone) throw assistantNotFound(id);
    return assistant_id;
  }

  async #stopRuns(workspaceId: string, assistantId: string): Promise<void> {
    const { database, runs } = this.#options;
    const active = await findActiveRunsOf(database.sql, workspaceId, assistantId);
    if (active.length === 0) return;
    await runs.cancelMany(workspaceId, { runIds: active.map((run) => run.run_id) }, "interrupt");
    const enough = AbortSignal.timeout(stopMs);
    await Promise.all(active.map((run) => runs.waitForEnd(run.thread_id, run.run_id, enough)));
  }

  async draw(workspaceId: string, id: string, xray: boolean | number): Promise<DrawnGraph> {
    const { graph, assistant } = await this.#graphOf(workspaceId, id);
    return graph.draw(assistant.config, xray);
  }

  /** From the catalogue, which works a graph's schemas out once; with the types of its source. */
  async schemas(workspaceId: string, id: string): Promise<{ graph_id: string } & CatalogSchemas> {
    const { graph_id } = await this.get(workspaceId, id);
    return { graph_id, ...(await this.#fromCatalog(graph_id, "get")) };
  }

  /** The schemas of the running graph, available at once. */
  schemasOfGraph(graphId: string): Promise<GraphSchemas> {
    return this.#fromCatalog(graphId, "atRunTime");
  }

  async #fromCatalog(graphId: string, how: "get" | "atRunTime"): Promise<CatalogSchemas> {
    // Fails here, with a sentence, when the graph is unknown or could not be loaded.
    this.#options.graphs.get(graphId);
    const schemas = await this.#options.schemas[how](graphId);
    if (!schemas) throw new Error(`The schema catalogue does not know graph ${graphId}.`);
    return schemas;
  }

  async subgraphs(
    workspaceId: string,
    id: string,
    options: { namespace?: string; recurse?: boolean },
  ): Promise<Record<string, GraphSchemas>> {
    const { graph, assistant } = await this.#graphOf(workspaceId, id);
    return graph.subgraphs(assistant.config, options);
  }

  async #graphOf(workspaceId: string, id: string): Promise<{ graph: RunnableGraph; assistant: Assistant }> {
    const assistant = await this.get(workspaceId, id);
    return { graph: this.#options.graphs.get(assistant.graph_id), assistant };
  }

  /** A graph that could not be loaded may still have assistants. */
  #requireGraph(graphId: string): void {
    if (!this.#options.graphs.has(graphId)) this.#options.graphs.get(graphId);
  }

  #checkSettings(
    graphId: string,
    { config, context }: { config?: { configurable?: object | undefined } | undefined; context?: unknown },
  ): void {
    this.#options.checkSettings?.(graphId, { ...config?.configurable, ...(context as object | undefined) });
  }

  #refuseDefault(assistantId: string): void {
    const graphId = this.#options.graphs.allIds.find((each) => defaultAssistantId(each) === assistantId);
    if (graphId === undefined) return;
    throw new AppError({
      code: "assistant.is_default",
      kind: "conflict",
      message: `Assistant ${assistantId} is the default assistant of graph "${graphId}" and cannot be deleted.`,
    });
  }
}
