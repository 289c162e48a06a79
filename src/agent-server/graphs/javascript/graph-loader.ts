import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { AppError, errorMessage } from "../../../platform/errors.ts";
import type { LoadedAuth } from "../../auth/project-auth.ts";
import type { GraphSource } from "../graph-runtime.ts";
import type { ProjectPart } from "../loaded-project.ts";
import type { HttpApp } from "../project-app.ts";
import type { GraphReference, ModuleReference, ProjectConfig } from "../project-config.ts";
import { graphError, partError } from "../project-faults.ts";
import { languageOf } from "../project-language.ts";
import { type GraphKit, loadProjectKit } from "./graph-kit.ts";
import { compileGraph, describeValue, factoryGraph, fixedGraph, type LoadedGraph } from "./loaded-graph.ts";
import {
  enableTypeScript,
  findTsconfig,
  loadUserExport,
  restCompiler,
  UserModuleError,
} from "./user-module.ts";

export type JavascriptPart = Omit<ProjectPart, "graphs"> & {
  graphs: Map<string, LoadedGraph>;
  kit: GraphKit;
};

/** The graphs in JavaScript and TypeScript, and the project's own auth and application where those are. */
export async function loadJavascriptPart(config: ProjectConfig): Promise<JavascriptPart> {
  const references = config.graphs.filter(isOurs);
  const firstGraph = resolve(config.directory, references[0]?.file ?? "package.json");
  const kits = createKits(config.directory);
  // Before TypeScript is enabled, which puts itself between Node and every file: some 300 files of the library are not
  // looked at twice. What is wrong with it is the error of the graph that needs it.
  await kits.esm().catch(() => undefined);
  const disableTypeScript = await enableTypeScript(findTsconfig(firstGraph, config.directory));
  try {
    const auth = config.auth && isOurs(config.auth) ? await loadAuth(config.auth, config) : undefined;
    const httpApp =
      config.httpApp && isOurs(config.httpApp) ? await loadHttpApp(config.httpApp, config) : undefined;
    const graphs = new Map<string, LoadedGraph>();
    const broken = new Map<string, AppError>();
    for (const reference of references) {
      const loaded = await loadGraph(reference, config.directory, kits);
      if (loaded instanceof AppError) broken.set(reference.graphId, loaded);
      else graphs.set(reference.graphId, loaded);
    }
    const kit = graphs.values().next().value?.kit ?? (await kits.esm());
    await restCompiler();
    return { graphs, broken, auth, httpApp, kit, libraryVersion: kit.version, close: disableTypeScript };
  } catch (error) {
    await disableTypeScript();
    throw error;
  }
}

function isOurs(reference: ModuleReference): boolean {
  return languageOf(reference) === "javascript";
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
  part: "auth.path" | "http.app",
  reference: ModuleReference,
  config: ProjectConfig,
): Promise<unknown> {
  try {
    return (await loadUserExport(reference, config.directory)).value;
  } catch (error) {
    throw partError(part, reference, config, errorMessage(error), error);
  }
}
