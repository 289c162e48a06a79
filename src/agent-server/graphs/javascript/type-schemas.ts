import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type * as Compiler from "typescript/unstable/async";
import { findInstalledPackage, importUrl } from "../../../platform/installed-package.ts";
import { KeyedLock } from "../../../platform/keyed-lock.ts";
import { importModule } from "../../../platform/native-import.ts";
import type { GraphSchemas, JsonSchema } from "../graph-description.ts";
import type { TypeSchemas } from "../schema-catalog.ts";
import { withCompiler } from "./compiler-process.ts";
import { tidySchema } from "./graph-schemas.ts";
import { type TypeReader, typeToSchema } from "./type-to-schema.ts";
import { findTsconfig } from "./user-module.ts";

const typed = new Set([".ts", ".mts", ".cts", ".tsx"]);
const defaultLimitMs = 60_000;

export type TypeSchemasOptions = {
  limitMs?: number;
  /** Whose compiler it is: that of the package a file at this path imports. */
  compilerOf?: string;
};

/**
 * Schemas from the types in the source, for state and config declared with annotations. The compiler runs as a process
 * of its own, so the server's event loop stays free; one at a time, because each reads all that a graph imports. It is
 * the server's, whose version is fixed, and never the project's: what it is asked through has no promise to stay.
 */
export function createTypeSchemas(
  projectDirectory: string,
  { limitMs = defaultLimitMs, compilerOf = fileURLToPath(import.meta.url) }: TypeSchemasOptions = {},
): TypeSchemas {
  const turns = new KeyedLock();
  return async (graph, atRunTime) => {
    const { file, exportName } = graph;
    if (file === undefined || !typed.has(extname(file))) return undefined;
    return turns.run("compiler", async () => {
      const compiler = await loadCompiler(compilerOf);
      return readInCompiler(compiler, { file, exportName, atRunTime }, { projectDirectory, limitMs });
    });
  };
}

async function loadCompiler(fromFile: string): Promise<typeof Compiler> {
  const found = findInstalledPackage("typescript", fromFile);
  if (found === undefined) {
    throw new Error("The types of the graph were not read: TypeScript is not installed next to the server.");
  }
  const url = importUrl(found, "./unstable/async");
  const compiler = url === undefined ? {} : ((await importModule(url)) as Partial<typeof Compiler>);
  if (typeof compiler.API !== "function" || typeof compiler.SymbolFlags?.Optional !== "number") {
    throw new Error(
      `The types of the graph were not read: TypeScript ${found.version} (${found.directory}) does not have the type API of TypeScript 7.0. Install the server's dependencies again.`,
    );
  }
  return compiler as typeof Compiler;
}

type Subject = { file: string; exportName: string; atRunTime: GraphSchemas };

async function readInCompiler(
  compiler: typeof Compiler,
  { file, exportName, atRunTime }: Subject,
  { projectDirectory, limitMs }: { projectDirectory: string; limitMs: number },
): Promise<GraphSchemas | undefined> {
  const tsconfig = findTsconfig(file, projectDirectory);
  const project = join(tsconfig ? dirname(tsconfig) : projectDirectory, "tsconfig.graph-types.json");
  const source = projectSource(file, tsconfig);
  try {
    const api = new compiler.API({
      cwd: projectDirectory,
      fs: {
        readFile: (path) => (path === project ? source : undefined),
        fileExists: (path) => (path === project ? true : undefined),
      },
    });
    return await withCompiler(api, limitMs, async (signal) => {
      const snapshot = await api.updateSnapshot({ openProjects: [project] });
      signal.throwIfAborted();
      const opened = snapshot.getProject(project);
      if (opened === undefined) throw new Error("the compiler found no project");
      const reader = { checker: opened.checker, optionalFlag: compiler.SymbolFlags.Optional };
      const graphType = await findGraphType(reader.checker, opened, file, exportName);
      return graphType && (await readSchemas(reader, graphType, atRunTime));
    });
  } catch (error) {
    throw new Error(`The types of ${exportName} in ${file} were not read: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
}

/** Only what the graph imports is looked at, with the project's own settings where it has some. */
function projectSource(file: string, tsconfig: string | undefined): string {
  const settings = tsconfig && existsSync(tsconfig) ? { extends: tsconfig } : {};
  const fallback = { module: "NodeNext", moduleResolution: "NodeNext", target: "ES2022", strict: true };
  return JSON.stringify({
    ...settings,
    files: [file],
    include: [],
    compilerOptions: { ...(tsconfig ? {} : fallback), noEmit: true, skipLibCheck: true },
  });
}

/** The type of the compiled graph behind the export, be it a graph, a builder, an agent or a function making one. */
async function findGraphType(
  checker: Compiler.Checker,
  project: Compiler.Project,
  file: string,
  exportName: string,
) {
  const source = await project.program.getSourceFile(file);
  const module = source && (await checker.getSymbolAtLocation(source));
  const exported = module && (await checker.getMemberInModuleExports(module, exportName));
  const given = exported && (await checker.getTypeOfSymbol(await followAlias(checker, exported)));
  let type = await unwrapPromise(checker, given);
  const [signature] = type ? await checker.getSignaturesOfType(type, 0) : [];
  if (signature) type = await unwrapPromise(checker, await checker.getReturnTypeOfSignature(signature));
  if (type === undefined || (await checker.getPropertyOfType(type, "~RunOutput"))) return type;
  const carried = await checker.getPropertyOfType(type, "graph");
  if (carried) return checker.getTypeOfSymbol(carried);
  const compile = await checker.getPropertyOfType(type, "compile");
  const compileType = compile && (await checker.getTypeOfSymbol(compile));
  const [compiles] = compileType ? await checker.getSignaturesOfType(compileType, 0) : [];
  return compiles && checker.getReturnTypeOfSignature(compiles);
}

async function followAlias(checker: Compiler.Checker, symbol: Compiler.Symbol): Promise<Compiler.Symbol> {
  const target = await checker.getAliasedSymbol(symbol).catch(() => symbol);
  return (await checker.isUnknownSymbol(target)) ? symbol : target;
}

async function unwrapPromise(checker: Compiler.Checker, type: Compiler.Type | undefined) {
  if (type === undefined || (await type.getSymbol())?.name !== "Promise" || !type.isTypeReference())
    return type;
  return (await checker.getTypeArguments(type))[0];
}

async function readSchemas(
  reader: TypeReader,
  graphType: Compiler.Type,
  atRunTime: GraphSchemas,
): Promise<GraphSchemas | undefined> {
  const read = async (name: string, known: JsonSchema | null) => {
    const type = await typeOfProperty(reader.checker, graphType, name);
    const schema = type && (await typeToSchema(reader, type));
    return schema?.type === "object" ? tidySchema(keepMessages(schema, known)) : known;
  };
  return {
    input_schema: await read("~InputType", atRunTime.input_schema),
    output_schema: await read("~OutputType", atRunTime.output_schema),
    state_schema: await read("~RunOutput", atRunTime.state_schema),
    ...(await readConfig(reader, graphType, atRunTime)),
  };
}

/** The second argument of `invoke` has the declared config as its `context`; without one that may be anything. */
async function readConfig(
  reader: TypeReader,
  graphType: Compiler.Type,
  { config_schema, context_schema }: GraphSchemas,
): Promise<Pick<GraphSchemas, "config_schema" | "context_schema">> {
  const known = { config_schema, context_schema };
  if (config_schema !== null) return known;
  const { checker } = reader;
  const invoke = await typeOfProperty(checker, graphType, "invoke");
  const [signature] = invoke ? await checker.getSignaturesOfType(invoke, 0) : [];
  const options = (await signature?.getParameters())?.[1];
  const optionsType = options && (await checker.getTypeOfSymbol(options));
  const given = optionsType && (await checker.getNonNullableType(optionsType));
  const context = given && (await typeOfProperty(checker, given, "context"));
  const type = context && (await checker.getNonNullableType(context));
  const schema = type && (await typeToSchema(reader, type));
  if (schema?.type !== "object" || Object.keys(schema.properties as object).length === 0) return known;
  const config = tidySchema(schema);
  return { config_schema: config, context_schema: config };
}

async function typeOfProperty(checker: Compiler.Checker, type: Compiler.Type, name: string) {
  const property = await checker.getPropertyOfType(type, name);
  return property && checker.getTypeOfSymbol(property);
}

/** The reducer knows messages for certain; their type may be anything. */
function keepMessages(schema: JsonSchema, known: JsonSchema | null): JsonSchema {
  const knownFields = (known?.properties ?? {}) as Record<string, JsonSchema>;
  const messages = Object.entries(knownFields).filter(([, field]) => field.langgraph_type === "messages");
  return { ...schema, properties: { ...(schema.properties as object), ...Object.fromEntries(messages) } };
}
