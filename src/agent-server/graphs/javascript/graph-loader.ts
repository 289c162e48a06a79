import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { AppError, errorMessage } from "../../../platform/errors.ts";
import type { LoadedAuth } from "../../auth/project-auth.ts";
import { environmentAdditions, parseEnvFile, requestedEnvironment } from "../env-file.ts";
import type { GraphSource } from "../graph-runtime.ts";
import type { HttpApp } from "../project-app.ts";
import {
  type GraphReference,
  type ModuleReference,
  type ProjectConfig,
  parseProjectConfig,
} from "../project-config.ts";
import { type GraphKit, loadProjectKit } from "./graph-kit.ts";
import {
  compileGraph,
  describeValue,
  factoryGraph,
  fixedGraph,
  graphError,
  type LoadedGraph,
} from "./loaded-graph.ts";
import { enableTypeScript, findTsconfig, loadUserExport, UserModuleError } from "./user-module.ts";

export type LoadedProject = {
  config: ProjectConfig;
  graphs: Map<string, LoadedGraph>;
  /** The graphs that did not load and why; the others work. */
  broken: Map<string, AppError>;
  auth: LoadedAuth | undefined;
  httpApp: HttpApp | undefined;
  kit: GraphKit;
  /** Warnings for the operator; they stop nothing. */
  warnings: string[];
  close(): Promise<void>;
};

export type LoadProjectOptions = {
  configPath: string;
  /** What is set already; it wins over the project's own values. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Sets variables where the user's code will look for them; called before any of it is imported. */
  applyEnvironment(values: Record<string, string>): void;
};

export async function loadProject(options: LoadProjectOptions): Promise<LoadedProject> {
  const config = parseProjectConfig(await readConfigFile(options.configPath), options.configPath);
  const warnings: string[] = [];
  options.applyEnvironment(await projectEnvironment(config, options.environment, warnings));
  const firstGraph = resolve(config.directory, config.graphs[0]?.file ?? "package.json");
  const disableTypeScript = enableTypeScript(findTsconfig(firstGraph, config.directory));
  try {
    const auth = config.auth && (await loadAuth(config.auth, config));
    const httpApp = config.httpApp && (await loadHttpApp(config.httpApp, config));
    const kits = createKits(config.directory);
    const graphs = new Map<string, LoadedGraph>();
    const broken = new Map<string, AppError>();
    for (const reference of config.graphs) {
      const loaded = await loadGraph(reference, config.directory, kits);
      if (loaded instanceof AppError) broken.set(reference.graphId, loaded);
      else graphs.set(reference.graphId, loaded);
    }
    const kit = graphs.values().next().value?.kit ?? (await kits.esm());
    return { config, graphs, broken, auth, httpApp, kit, warnings, close: disableTypeScript };
  } catch (error) {
    await disableTypeScript();
    throw error;
  }
}

async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const isFolder = (error as NodeJS.ErrnoException).code === "EISDIR";
    const problem = isFolder ? "is a folder" : `cannot be read (${errorMessage(error)})`;
    throw new AppError({
      code: "graph.config_missing",
      kind: "invalid",
      message: `The project file ${path} ${problem}. Give the path of a langgraph.json.`,
      cause: error,
    });
  }
}

async function projectEnvironment(
  config: ProjectConfig,
  present: LoadProjectOptions["environment"],
  warnings: string[],
): Promise<Record<string, string>> {
  const request = requestedEnvironment(config.file.env);
  if (request.kind === "none") return {};
  if (request.kind === "values") {
    const unset = request.required.filter((name) => present[name] === undefined);
    if (unset.length > 0)
      warnings.push(`${config.path} lists ${unset.join(", ")} under "env", which is not set.`);
    return environmentAdditions(request.values, present);
  }
  const file = resolve(config.directory, request.path);
  try {
    return environmentAdditions(parseEnvFile(await readFile(file, "utf8")), present);
  } catch (error) {
    // Rarely committed, and a deployment gets the same values as secrets: a warning, not a failure.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    warnings.push(`The env file ${file} named in ${config.path} does not exist; its variables are not set.`);
    return {};
  }
}

type Kits = { esm(): Promise<GraphKit>; cjs(): Promise<GraphKit>; loadedAsCjs(file: string): boolean };

function createKits(directory: string): Kits {
  let esm: Promise<GraphKit> | undefined;
  let cjs: Promise<GraphKit> | undefined;
  const { cache } = createRequire(join(directory, "package.json"));
  return {
    esm() {
      esm ??= loadProjectKit(directory, "esm");
      return esm;
    },
    cjs() {
      cjs ??= loadProjectKit(directory, "cjs");
      return cjs;
    },
    loadedAsCjs: (file) => cache[file] !== undefined,
  };
}

async function loadGraph(
  reference: GraphReference,
  directory: string,
  kits: Kits,
): Promise<LoadedGraph | AppError> {
  const { graphId, description, exportName } = reference;
  const source: GraphSource = { graphId, description, exportName, file: resolve(directory, reference.file) };
  try {
    const { value: exported, file } = await loadUserExport(reference, directory);
    // A graph that takes time to make is often exported as the promise of it.
    const value = await exported;
    const compiled = compileGraph(value);
    if (compiled !== undefined) {
      const esm = await kits.esm();
      return fixedGraph(source, compiled, esm.owns(compiled) ? esm : await kits.cjs());
    }
    if (typeof value === "function") {
      const kit = await (kits.loadedAsCjs(file) ? kits.cjs() : kits.esm());
      return factoryGraph(source, value as Parameters<typeof factoryGraph>[1], kit);
    }
    return graphError(
      "graph.not_a_graph",
      source,
      `the export is ${describeValue(value)}; export a StateGraph, a compiled graph or a function that returns one`,
    );
  } catch (error) {
    if (error instanceof AppError) return error;
    const cause = error instanceof UserModuleError ? (error.cause ?? error) : error;
    return graphError("graph.load_failed", source, errorMessage(error), cause);
  }
}

/** A server whose guard did not load must not start open, so this throws. */
async function loadAuth(
  reference: NonNullable<ProjectConfig["auth"]>,
  config: ProjectConfig,
): Promise<LoadedAuth> {
  const value = await loadRequired("auth.path", reference, config);
  const handlers =
    value !== null && typeof value === "object" && "~handlerCache" in value
      ? value["~handlerCache"]
      : undefined;
  if (handlers === null || typeof handlers !== "object") {
    throw partError(
      "auth.path",
      reference,
      config,
      `the export is ${describeValue(value)}, not an Auth object`,
    );
  }
  const { authenticate, callbacks } = handlers as Partial<LoadedAuth>;
  return { authenticate, callbacks: callbacks ?? {}, disableStudioAuth: reference.disableStudioAuth };
}

async function loadHttpApp(reference: ModuleReference, config: ProjectConfig): Promise<HttpApp> {
  const value = await loadRequired("http.app", reference, config);
  if (
    value === null ||
    typeof value !== "object" ||
    !("fetch" in value) ||
    typeof value.fetch !== "function"
  ) {
    throw partError(
      "http.app",
      reference,
      config,
      `the export is ${describeValue(value)}, which has no fetch()`,
    );
  }
  return value as HttpApp;
}

async function loadRequired(
  part: string,
  reference: ModuleReference,
  config: ProjectConfig,
): Promise<unknown> {
  try {
    return (await loadUserExport(reference, config.directory)).value;
  } catch (error) {
    throw partError(part, reference, config, errorMessage(error), error);
  }
}

function partError(
  part: string,
  reference: ModuleReference,
  config: ProjectConfig,
  problem: string,
  cause?: unknown,
) {
  return new AppError({
    code: "graph.part_unusable",
    kind: "unavailable",
    retryable: false,
    message: `${part} in ${config.path} (${reference.file}, export "${reference.exportName}") cannot be used: ${problem}.`,
    cause,
  });
}
