import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { AppError } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import { pythonMain } from "../../../platform/package-facts.ts";
import type { EmbedText } from "../../store/item-embedder.ts";
import type { GraphSource, ServedGraph } from "../graph-runtime.ts";
import type { ProjectPart } from "../loaded-project.ts";
import type { GraphReference, ModuleReference, ProjectConfig } from "../project-config.ts";
import { graphError, partError } from "../project-faults.ts";
import { languageOf, pythonEmbedding } from "../project-language.ts";
import { refusedKeys } from "../refused-keys.ts";
import { BuiltDescriptions } from "./built-descriptions.ts";
import {
  type AppRoute,
  describeFailure,
  hasFailed,
  type LoadReport,
  type PartFailure,
} from "./load-report.ts";
import { MemoryKills } from "./memory-kills.ts";
import { pythonAuth } from "./python-auth.ts";
import { pythonGraph } from "./python-graph.ts";
import { PythonHttp } from "./python-http.ts";
import { findInterpreter } from "./python-interpreter.ts";
import { PythonPool } from "./python-pool.ts";
import { trustForPython } from "./python-trust.ts";
import { PythonWorker } from "./python-worker.ts";
import { Upstream, type UpstreamOptions } from "./upstream.ts";

export type PythonSettings = {
  /** How many processes run graphs; null: as many as there are processors, at most four. */
  workers: number | null;
  /** How long a process may be blocked; 0: for ever. */
  watchdogMs: number;
  memoryLimitMb: number | null;
  /** Whether a spare process that has imported the libraries is kept while runs are active. */
  spare: boolean;
};

export type PythonProjectOptions = PythonSettings & {
  environment: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  server: UpstreamOptions;
  /** From now on processes import the project, which takes seconds; this one has time for other things. */
  onStarting?(): void;
};

const mostWorkers = 4;

/** The graphs in Python, and the project's own auth, application and embedding function where those are. */
export async function loadPythonPart(
  config: ProjectConfig,
  options: PythonProjectOptions,
): Promise<ProjectPart> {
  requireOwnStorage(config);
  const { environment, logger, watchdogMs, memoryLimitMb } = options;
  const { path: interpreter } = await findInterpreter({ directory: config.directory, environment });
  const workers = options.workers ?? Math.min(mostWorkers, availableParallelism());
  const upstream = new Upstream(options.server);
  const load = { ...loadRequest(config), workers, ...(watchdogMs > 0 ? { stallMs: watchdogMs } : {}) };
  const memoryKills = new MemoryKills();
  const trust = await trustForPython(environment, logger);
  const isTold = Object.keys(trust.variables).length > 0;
  const start = () =>
    new PythonWorker({
      ...{
        interpreter,
        main: pythonMain,
        directory: config.directory,
        logger,
        load,
        watchdogMs,
        memoryLimitMb,
        memoryKills,
        ...(isTold ? { environment: { ...environment, ...trust.variables } } : {}),
      },
      upstream: (request, stream) => upstream.answer(request, stream),
    });
  const pool = new PythonPool({ logger, workers, start, spare: options.spare });
  const hasFront = load.auth || load.app || load.embed;
  // Requests must not wait for graphs that compute; with one process alone they share it.
  const front = hasFront && workers > 1 ? new PythonPool({ logger, workers: 1, start, spare: false }) : pool;
  const pools = new Set([pool, front]);
  const close = async () => {
    await Promise.all([...pools].map((each) => each.stop()));
    await trust.remove();
  };
  try {
    const starting = Promise.all([...pools].map((each) => each.start()));
    options.onStarting?.();
    const [[report], built] = await Promise.all([starting, BuiltDescriptions.read(config.directory)]);
    return { ...partOf(config, report!, { pool, front, upstream, built }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Running = { pool: PythonPool; front: PythonPool; upstream: Upstream; built: BuiltDescriptions };

function partOf(config: ProjectConfig, report: LoadReport, { pool, front, upstream, built }: Running) {
  const graphs = new Map<string, ServedGraph>();
  const broken = new Map<string, AppError>();
  for (const reference of config.graphs.filter(isOurs)) {
    const { graphId } = reference;
    const source = sourceOf(reference, config);
    const loaded = report.graphs.find((each) => each.graphId === graphId);
    if (loaded && !hasFailed(loaded))
      graphs.set(graphId, pythonGraph(source, loaded, pool, built.of(loaded)));
    else if (loaded)
      broken.set(graphId, graphError("graph.load_failed", source, describeFailure(loaded.error)));
  }
  const auth = config.auth && isOurs(config.auth) ? config.auth : undefined;
  const app = config.httpApp && isOurs(config.httpApp) ? config.httpApp : undefined;
  const embed = embeddingOf(config);
  const described = app && loadedPart("http.app", app, config, report.app);
  return {
    graphs,
    broken,
    libraryVersion: report.versions.langgraph ?? "unknown",
    auth:
      auth && pythonAuth(front, loadedPart("auth.path", auth, config, report.auth), auth.disableStudioAuth),
    httpApp: described && new PythonHttp(front, upstream, described),
    warnings: described ? unservedSockets(described.routes, config) : [],
    embed:
      embed && loadedPart("store.index.embed", embed, config, report.embed) ? embedder(front) : undefined,
  };
}

function unservedSockets(routes: readonly AppRoute[], { path }: ProjectConfig): string[] {
  const sockets = routes.filter(({ kind }) => kind === "websocket").map((route) => route.path);
  if (sockets.length === 0) return [];
  return [
    `http.app in ${path} has WebSockets (${sockets.join(", ")}), which are not served: stream over HTTP instead.`,
  ];
}

function loadedPart<Part extends object>(
  part: Parameters<typeof partError>[0],
  reference: ModuleReference,
  config: ProjectConfig,
  loaded: Part | PartFailure | undefined,
): Part {
  if (loaded && !hasFailed(loaded)) return loaded;
  throw partError(part, reference, config, loaded ? describeFailure(loaded.error) : "it was not loaded");
}

function embedder(pool: PythonPool): EmbedText {
  return async (texts) => {
    const { segments } = await (await pool.any()).call("embed", {}, [JSON.stringify(texts)]);
    return JSON.parse(segments[0]!.toString()) as number[][];
  };
}

function loadRequest(config: ProjectConfig) {
  const { directory, file, auth, httpApp } = config;
  const place = (reference: ModuleReference | undefined) =>
    reference && isOurs(reference) ? placeOf(reference, directory) : undefined;
  const embed = embeddingOf(config);
  return {
    directory,
    dependencies: (file.dependencies ?? [])
      .filter((each) => /^\.{1,2}(\/|$)|^\//.test(each))
      .map((each) => resolve(directory, each)),
    graphs: config.graphs
      .filter(isOurs)
      .map((each) => ({ graphId: each.graphId, ...placeOf(each, directory) })),
    auth: place(auth),
    app: place(httpApp),
    embed: embed && placeOf(embed, directory),
  };
}

function embeddingOf({ file }: ProjectConfig): ModuleReference | undefined {
  const embed = file.store?.index?.embed;
  return embed ? pythonEmbedding(embed) : undefined;
}

function placeOf({ file, exportName }: ModuleReference, directory: string) {
  return file.endsWith(".py") ? { file: resolve(directory, file), exportName } : { module: file, exportName };
}

function sourceOf(reference: GraphReference, { directory }: ProjectConfig): GraphSource {
  const { graphId, description, exportName, file } = reference;
  return { graphId, description, exportName, file: file.endsWith(".py") ? resolve(directory, file) : file };
}

function isOurs(reference: ModuleReference): boolean {
  return languageOf(reference) === "python";
}

/** A project that asks for what is refused must not start without it. */
function requireOwnStorage(config: ProjectConfig): void {
  const named = refusedKeys(config).map(({ key }) => key);
  if (named.length === 0) return;
  throw new AppError({
    code: "graph.part_unusable",
    kind: "unavailable",
    retryable: false,
    message: `${config.path} has ${named.join(" and ")}, which this server does not have for Python graphs: state would be stored elsewhere or unencrypted. Remove it to use the server's own storage.`,
  });
}
