import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type * as Compiler from "typescript/unstable/async";
import type { JsonSchema } from "./channel-schemas.ts";
import { type GraphSchemas, tidySchema } from "./graph-schemas.ts";
import { findInstalledPackage, importUrl } from "./installed-package.ts";
import { importModule } from "./native-import.ts";
import type { TypeSchemas } from "./schema-catalog.ts";
import { type TypeReader, typeToSchema } from "./type-to-schema.ts";
import { findTsconfig } from "./user-module.ts";

const typed = new Set([".ts", ".mts", ".cts", ".tsx"]);
const slowMs = 60_000;

/**
 * Schemas from the types in the source, for state declared with annotations. The compiler is TypeScript 7 or later
 * (the project's own, else the server's) and runs as a process of its own, so the server's event loop stays free.
 * Without such a compiler there are none.
 */
export function createTypeSchemas(projectDirectory: string): TypeSchemas {
  return async (graph, atRunTime) => {
    if (graph.file === undefined || !typed.has(extname(graph.file))) return undefined;
    const url = compilerUrl(projectDirectory);
    if (url === undefined) return undefined;
    const compiler = (await importModule(url)) as unknown as typeof Compiler;
    return readInCompiler(
      compiler,
      { file: graph.file, exportName: graph.exportName, atRunTime },
      projectDirectory,
    );
  };
}

function compilerUrl(projectDirectory: string): string | undefined {
  for (const from of [join(projectDirectory, "package.json"), fileURLToPath(import.meta.url)]) {
    const found = findInstalledPackage("typescript", from);
    const url = found && importUrl(found, "./unstable/async");
    if (url !== undefined) return url;
  }
  return undefined;
}

type Subject = { file: string; exportName: string; atRunTime: GraphSchemas };

async function readInCompiler(
  compiler: typeof Compiler,
  { file, exportName, atRunTime }: Subject,
  projectDirectory: string,
): Promise<GraphSchemas | undefined> {
  const tsconfig = findTsconfig(file, projectDirectory);
  const project = join(tsconfig ? dirname(tsconfig) : projectDirectory, "tsconfig.graph-types.json");
  const source = projectSource(file, tsconfig);
  const api = new compiler.API({
    cwd: projectDirectory,
    fs: {
      readFile: (path) => (path === project ? source : undefined),
      fileExists: (path) => (path === project ? true : undefined),
    },
  });
  // Closing the compiler makes whatever still waits for it fail.
  const timer = setTimeout(() => void api.close(), slowMs);
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [project] });
    const opened = snapshot.getProject(project);
    if (opened === undefined) return undefined;
    const reader = { checker: opened.checker, optionalFlag: compiler.SymbolFlags.Optional };
    const graphType = await findGraphType(reader.checker, opened, file, exportName);
    return graphType && (await readSchemas(reader, graphType, atRunTime));
  } finally {
    clearTimeout(timer);
    await api.close();
  }
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
  let type = exported && (await checker.getTypeOfSymbol(await followAlias(checker, exported)));
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
    const property = await reader.checker.getPropertyOfType(graphType, name);
    const type = property && (await reader.checker.getTypeOfSymbol(property));
    const schema = type && (await typeToSchema(reader, type));
    return schema?.type === "object" ? tidySchema(keepMessages(schema, known)) : known;
  };
  return {
    input_schema: await read("~InputType", atRunTime.input_schema),
    output_schema: await read("~OutputType", atRunTime.output_schema),
    state_schema: await read("~RunOutput", atRunTime.state_schema),
    config_schema: atRunTime.config_schema,
    context_schema: atRunTime.context_schema,
  };
}

/** The reducer knows messages for certain; their type may be anything. */
function keepMessages(schema: JsonSchema, known: JsonSchema | null): JsonSchema {
  const knownFields = (known?.properties ?? {}) as Record<string, JsonSchema>;
  const messages = Object.entries(knownFields).filter(([, field]) => field.langgraph_type === "messages");
  return { ...schema, properties: { ...(schema.properties as object), ...Object.fromEntries(messages) } };
}
