import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type * as Callbacks from "@langchain/core/callbacks/manager";
import type * as Messages from "@langchain/core/messages";
import type * as Singletons from "@langchain/core/singletons";
import type * as Tracer from "@langchain/core/tracers/tracer_langchain";
import type * as LangGraph from "@langchain/langgraph";
import type * as PregelModule from "@langchain/langgraph/pregel";
import type * as Schemas from "@langchain/langgraph/zod/schema";
import type * as Checkpoint from "@langchain/langgraph-checkpoint";
import { AppError } from "../../../platform/errors.ts";
import {
  findInstalledPackage,
  type InstalledPackage,
  importUrl,
  requireFrom,
} from "../../../platform/installed-package.ts";
import { importModule } from "../../../platform/native-import.ts";
import { lightenCallbacks } from "./light-callbacks.ts";
import { lightenContext } from "./light-context.ts";

/**
 * The parts of the graph library the server must take from the same copy as the graph it runs: a `Send`, a revived
 * message or a zod registry of another copy is refused, or worse, silently misread.
 */
export type GraphKit = {
  origin: "project" | "server";
  /** One package holds two copies, one per module format; a graph belongs to one of them. */
  format: ModuleFormat;
  version: string;
  coreVersion: string;
  directory: string;
  Send: typeof LangGraph.Send;
  Command: typeof LangGraph.Command;
  BaseCheckpointSaver: typeof Checkpoint.BaseCheckpointSaver;
  BaseStore: typeof Checkpoint.BaseStore;
  /** Undefined before langgraph 1.4, which has no delta channels. */
  DeltaSnapshot: typeof Checkpoint.DeltaSnapshot | undefined;
  serde: Checkpoint.SerializerProtocol;
  uuid6: typeof Checkpoint.uuid6;
  isInterrupted(values: unknown): boolean;
  isGraphInterrupt: typeof LangGraph.isGraphInterrupt;
  isGraphBubbleUp: typeof LangGraph.isGraphBubbleUp;
  isCommand: typeof LangGraph.isCommand;
  messagesStateReducer: typeof LangGraph.messagesStateReducer;
  messages: MessageClasses;
  /** Undefined in versions without state schemas in zod. */
  schemas: SchemaFunctions | undefined;
  /** Sends traces as the environment configures. */
  LangChainTracer: typeof Tracer.LangChainTracer;
  /** What this copy does at less cost now; a version that is not known does all as it always did. */
  lightened: { context: boolean; callbacks: boolean };
  /** Whether the graph was built with this copy. */
  owns(graph: unknown): boolean;
};

export type ModuleFormat = "esm" | "cjs";

export type MessageClasses = Pick<
  typeof Messages,
  | "HumanMessage"
  | "AIMessage"
  | "AIMessageChunk"
  | "SystemMessage"
  | "ToolMessage"
  | "FunctionMessage"
  | "ChatMessage"
  | "RemoveMessage"
  | "coerceMessageLikeToMessage"
  | "isBaseMessage"
>;

export type SchemaFunctions = Pick<
  typeof Schemas,
  "getInputTypeSchema" | "getOutputTypeSchema" | "getStateTypeSchema" | "getConfigTypeSchema"
>;

type Copies = { langgraph: InstalledPackage; checkpoint: InstalledPackage; core: InstalledPackage };
export type KitModules = {
  langgraph: typeof LangGraph;
  pregel: typeof PregelModule;
  checkpoint: typeof Checkpoint;
  messages: typeof Messages;
  singletons: typeof Singletons;
  callbacks: typeof Callbacks;
  tracer: typeof Tracer;
  schemas: typeof Schemas | undefined;
};

/** The kit of the copy that files in `directory` import, else the server's own. */
export async function loadProjectKit(directory: string, format: ModuleFormat = "esm"): Promise<GraphKit> {
  const own = findCopies(fileURLToPath(import.meta.url));
  const found = findInstalledPackage("@langchain/langgraph", join(directory, "package.json"));
  if (found === undefined) return loadKit(requireCopies(own), "server", "esm");
  const copies = requireCopies(findCopies(join(directory, "package.json")));
  return loadKit(
    copies,
    copies.langgraph.directory === own?.langgraph.directory ? "server" : "project",
    format,
  );
}

/** The kit of the copy that the built-in graphs import. */
export async function loadServerKit(): Promise<GraphKit> {
  const copies = requireCopies(findCopies(fileURLToPath(import.meta.url)));
  const { serverModules } = await import("./server-modules.ts");
  return makeKit(copies, serverModules, "server", "esm");
}

async function loadKit(copies: Copies, origin: GraphKit["origin"], format: ModuleFormat): Promise<GraphKit> {
  const modules = format === "esm" ? await importModules(copies) : requireModules(copies);
  return makeKit(copies, modules, origin, format);
}

function makeKit(
  copies: Copies,
  modules: KitModules,
  origin: GraphKit["origin"],
  format: ModuleFormat,
): GraphKit {
  const { langgraph, pregel, checkpoint, messages, schemas, singletons, callbacks, tracer } = modules;
  const { CallbackManager } = callbacks;
  const lightened = {
    context: lightenContext(singletons.AsyncLocalStorageProviderSingleton, CallbackManager),
    callbacks: lightenCallbacks(CallbackManager),
  };
  return {
    origin,
    format,
    version: copies.langgraph.version,
    coreVersion: copies.core.version,
    directory: copies.langgraph.directory,
    Send: langgraph.Send,
    Command: langgraph.Command,
    BaseCheckpointSaver: checkpoint.BaseCheckpointSaver,
    BaseStore: checkpoint.BaseStore,
    DeltaSnapshot: checkpoint.DeltaSnapshot,
    serde: new checkpoint.MemorySaver().serde,
    uuid6: checkpoint.uuid6,
    isInterrupted: langgraph.isInterrupted ?? looksInterrupted,
    isGraphInterrupt: langgraph.isGraphInterrupt,
    isGraphBubbleUp: langgraph.isGraphBubbleUp,
    isCommand: langgraph.isCommand,
    messagesStateReducer: langgraph.messagesStateReducer,
    messages,
    schemas,
    LangChainTracer: tracer.LangChainTracer,
    lightened,
    owns: (graph) => graph instanceof pregel.Pregel,
  };
}

/** For versions that do not export the test yet. */
function looksInterrupted(values: unknown): boolean {
  return values !== null && typeof values === "object" && "__interrupt__" in values;
}

async function importModules(copies: Copies): Promise<KitModules> {
  const [langgraph, pregel, checkpoint, messages, singletons, callbacks, tracer, schemas] = await Promise.all(
    [
      importRequired(copies.langgraph, "."),
      importRequired(copies.langgraph, "./pregel"),
      importRequired(copies.checkpoint, "."),
      importRequired(copies.core, "./messages"),
      importRequired(copies.core, "./singletons"),
      importRequired(copies.core, "./callbacks/manager"),
      importRequired(copies.core, "./tracers/tracer_langchain"),
      importOptional(copies.langgraph, "./zod/schema"),
    ],
  );
  return {
    langgraph,
    pregel,
    checkpoint,
    messages,
    singletons,
    callbacks,
    tracer,
    schemas,
  } as unknown as KitModules;
}

function requireModules(copies: Copies): KitModules {
  const load = requireFrom(copies.langgraph);
  return {
    langgraph: load("@langchain/langgraph"),
    pregel: load("@langchain/langgraph/pregel"),
    checkpoint: load("@langchain/langgraph-checkpoint"),
    messages: load("@langchain/core/messages"),
    singletons: load("@langchain/core/singletons"),
    callbacks: load("@langchain/core/callbacks/manager"),
    tracer: load("@langchain/core/tracers/tracer_langchain"),
    schemas: importUrl(copies.langgraph, "./zod/schema")
      ? load("@langchain/langgraph/zod/schema")
      : undefined,
  };
}

async function importRequired(found: InstalledPackage, subpath: string): Promise<unknown> {
  const url = importUrl(found, subpath);
  if (url === undefined) throw unusablePackage(found.name, `it exports no "${subpath}" (${found.directory})`);
  return importModule(url);
}

async function importOptional(found: InstalledPackage, subpath: string): Promise<unknown> {
  const url = importUrl(found, subpath);
  return url === undefined ? undefined : importModule(url);
}

/** Checkpoint and core as langgraph itself finds them: a project may well have other copies at its top level. */
function findCopies(fromFile: string): Copies | undefined {
  const langgraph = findInstalledPackage("@langchain/langgraph", fromFile);
  if (langgraph === undefined) return undefined;
  const inside = join(langgraph.directory, "package.json");
  const checkpoint = findInstalledPackage("@langchain/langgraph-checkpoint", inside);
  const core = findInstalledPackage("@langchain/core", inside);
  if (checkpoint === undefined || core === undefined) {
    const missing = checkpoint === undefined ? "@langchain/langgraph-checkpoint" : "@langchain/core";
    throw unusablePackage(
      "@langchain/langgraph",
      `${langgraph.directory} needs ${missing}, which is not installed`,
    );
  }
  return { langgraph, checkpoint, core };
}

function requireCopies(copies: Copies | undefined): Copies {
  if (copies === undefined)
    throw unusablePackage("@langchain/langgraph", "it is not installed next to the server");
  return copies;
}

function unusablePackage(name: string, reason: string): AppError {
  return new AppError({
    code: "graph.library_unusable",
    kind: "unavailable",
    retryable: false,
    message: `The package ${name} cannot be used: ${reason}. Install the project's dependencies again.`,
  });
}
