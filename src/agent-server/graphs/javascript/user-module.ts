import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AppError, errorMessage } from "../../../platform/errors.ts";
import { importModule, type ModuleNamespace } from "../../../platform/native-import.ts";
import type { ModuleReference } from "../project-config.ts";
import { errorPlace } from "./error-place.ts";
import { endChildren } from "./own-children.ts";

const loadable = new Set([".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx"]);

export type UserExport = { value: unknown; file: string };

/** A sentence about why a file or its export could not be had; `cause` is what the file threw. */
export class UserModuleError extends Error {
  override name = "UserModuleError";
}

/**
 * Lets Node load TypeScript the way people write it (enums, `./x.js` meaning `x.ts`, path aliases of their tsconfig)
 * for as long as the project runs: nodes may import more files at any time. Loading is deliberately not put in a
 * namespace of its own, which would give the project second copies of every library. Imported here: a server without a
 * graph in JavaScript saves 15 MB and 50 ms.
 */
export async function enableTypeScript(tsconfigPath: string | undefined): Promise<() => Promise<void>> {
  const { register } = await import("tsx/esm/api");
  if (tsconfigPath === undefined) return register({ tsconfig: false });
  try {
    return register({ tsconfig: tsconfigPath });
  } catch (error) {
    const reason = errorMessage(error);
    // A package is named by what stands in "extends"; a path is shown as the file it leads to.
    const [, missing] = /^File '([^']+)' not found/.exec(reason) ?? [];
    const isPackage = missing !== undefined && !/^[./]/.test(missing);
    const name = isPackage
      ? missing
          .split("/")
          .slice(0, missing.startsWith("@") ? 2 : 1)
          .join("/")
      : "";
    const hint = isPackage ? ` Install the package ${name} in the project, also where it is deployed.` : "";
    throw new AppError({
      code: "graph.tsconfig_unusable",
      kind: "invalid",
      message: missing
        ? `${tsconfigPath} extends ${missing}, which does not exist.${hint}`
        : `${tsconfigPath} cannot be used: ${reason}`,
      cause: error,
    });
  }
}

/**
 * Ends the process in which TypeScript was compiled. A server would keep it, and a thread for it, as long as it runs, and
 * it wakes up fifty times a second. Should a node import another file later, it is started again.
 */
export async function restCompiler(): Promise<void> {
  // The very copy that compiles.
  const loader = createRequire(import.meta.url).resolve("tsx/esm/api");
  const requireBeside = createRequire(loader);
  const compiler = requireBeside("esbuild") as { stop(): Promise<void> };
  const program = findCompilerProgram(requireBeside.resolve("esbuild"));
  if (program !== undefined) await endChildren(program);
  await compiler.stop();
}

/** The file that its processes run; undefined where it has another place. */
function findCompilerProgram(compiler: string): string | undefined {
  try {
    return createRequire(compiler).resolve(`@esbuild/${process.platform}-${process.arch}/bin/esbuild`);
  } catch {
    return undefined;
  }
}

/** The tsconfig.json nearest to the file, no higher than the project's folder. */
export function findTsconfig(file: string, projectDirectory: string): string | undefined {
  let directory = dirname(file);
  for (;;) {
    const candidate = join(directory, "tsconfig.json");
    if (existsSync(candidate)) return candidate;
    const parent = dirname(directory);
    if (directory === projectDirectory || parent === directory) break;
    directory = parent;
  }
  const atRoot = join(projectDirectory, "tsconfig.json");
  return existsSync(atRoot) ? atRoot : undefined;
}

export async function loadUserExport(reference: ModuleReference, directory: string): Promise<UserExport> {
  const file = resolve(directory, reference.file);
  if (!loadable.has(extname(file))) {
    throw new UserModuleError(`${reference.file} is not a JavaScript, TypeScript or Python file`);
  }
  if (!existsSync(file))
    throw new UserModuleError(`the file ${file} does not exist; check the path in the configuration`);
  const module = await importUserFile(file, directory);
  const value = pickExport(module, reference.exportName);
  if (value === undefined) {
    const names = Object.keys(module).filter((name) => name !== "module.exports");
    const list = names.length === 0 ? "it exports nothing" : `it exports ${names.join(", ")}`;
    throw new UserModuleError(`the file has no export "${reference.exportName}"; ${list}`);
  }
  return { value, file };
}

async function importUserFile(file: string, directory: string): Promise<ModuleNamespace> {
  try {
    return await importModule(pathToFileURL(file).href);
  } catch (error) {
    const told = error instanceof Error ? `${error.name}: ${withoutStack(error.message)}` : String(error);
    const text = await withImportLine(told);
    const hint = isMissingPackage(error) ? "; install the packages of the project (npm install)" : "";
    const place = errorPlace(error, directory);
    // A compiler names it in its message.
    const where = place && !text.includes(place.file) ? ` (${place.file}, line ${place.line})` : "";
    throw new UserModuleError(`loading the file failed: ${text}${where}${hint}`, { cause: error });
  }
}

/** The message names the requiring file anyway. */
function withoutStack(message: string): string {
  return message.replace(/\nRequire stack:[\s\S]*$/, "");
}

/** Node names the file that imports what is missing; people look for the line. */
async function withImportLine(text: string): Promise<string> {
  const [, wanted, file] = /Cannot find (?:package|module) '([^']+)' imported from (\S+)/.exec(text) ?? [];
  if (wanted === undefined || file === undefined) return text;
  // A message without the line is as good as it was.
  const lines = (await readFile(file, "utf8").catch(() => "")).split("\n");
  const at = lines.findIndex((line) => [`"${wanted}`, `'${wanted}`].some((quoted) => line.includes(quoted)));
  return at < 0 ? text : text.replace(`imported from ${file}`, () => `imported from ${file}:${at + 1}`);
}

/** A package, not a file of the project, whose import names where it should be. */
function isMissingPackage(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  return isMissing && /Cannot find (package|module) '[^./]/.test(String(message));
}

/** A CommonJS file's `default` is its whole `module.exports`; the export people mean is inside. */
function pickExport(module: ModuleNamespace, name: string): unknown {
  const value = module[name];
  if (name !== "default" || value === null || typeof value !== "object") return value;
  return "__esModule" in value && "default" in value ? value.default : value;
}
