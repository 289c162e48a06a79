import childProcess, { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { type BuildFailure, type BuildOptions, type BuildResult, build, type Message, stop } from "esbuild";
import { candidatesIn, tailwindPlugin } from "./tailwind.ts";
import { globalNameOf, type SeenFile, type UiTask, type UiTaskResult } from "./ui-bundle.ts";
import { entryName, entryNamespace, entryPlugin, sharedPlugin } from "./ui-entry.ts";

/** Images and fonts go into the bundle: only these two files are ever served. */
const inlined = Object.fromEntries(
  ["png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "woff", "woff2", "ttf", "otf"].map((extension) => [
    `.${extension}`,
    "dataurl" as const,
  ]),
);

const bundlers = noteChildren();
parentPort!.postMessage(await bundle(workerData as UiTask));
await stop();
// A thread that ends before its child leaves an entry in the process table for good.
await Promise.all(
  bundlers.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null).map(ended),
);

/** The library keeps its process to itself, and this thread runs nothing else. */
function noteChildren(): ChildProcess[] {
  const noted: ChildProcess[] = [];
  const { spawn } = childProcess;
  childProcess.spawn = ((...given: Parameters<typeof spawn>) => {
    const child = spawn(...given);
    noted.push(child);
    return child;
  }) as typeof spawn;
  return noted;
}

async function ended(child: ChildProcess): Promise<void> {
  child.ref();
  await once(child, "exit");
}

async function bundle({ name, file, directory, shared }: UiTask): Promise<UiTaskResult> {
  const options = {
    absWorkingDir: directory,
    entryPoints: [entryName],
    outdir: join(directory, "ui"),
    write: false,
    metafile: true,
    bundle: true,
    platform: "browser",
    target: "es2020",
    format: "iife",
    globalName: globalNameOf(name),
    charset: "utf8",
    jsx: "automatic",
    logLevel: "silent",
    define: { [["process", "env", "NODE_ENV"].join(".")]: '"production"' },
    loader: inlined,
  } satisfies BuildOptions;
  const plugins = [entryPlugin({ file, directory }), sharedPlugin(shared)];
  try {
    // Once for the scripts alone: their words are what Tailwind looks for, and it is asked before they are read.
    const first = await build({ ...options, plugins, loader: { ...inlined, ".css": "empty" } });
    const scripts = inputsOf(first, directory);
    const before = await Promise.all(scripts.map(see));
    const words = new Set<string>();
    for (const path of scripts.filter((each) => /\.[cm]?[jt]sx?$/.test(each))) {
      for (const word of candidatesIn(await readFile(path, "utf8"))) words.add(word);
    }
    const sheets = new Set<string>();
    const tailwind = tailwindPlugin({ candidates: [...words], onRead: (path) => sheets.add(path) });
    const result = await build({ ...options, plugins: [...plugins, tailwind] });
    const known = new Set(scripts);
    const later = [...inputsOf(result, directory), ...sheets].filter((path) => !known.has(path));
    const textOf = (extension: string) =>
      result.outputFiles.find(({ path }) => path.endsWith(`${entryName}.${extension}`))?.text;
    return {
      kind: "built",
      // Without the bundler's mark that the call may be left out: people look for the plain form.
      script: (textOf("js") ?? "").replaceAll("[/* @__PURE__ */ Symbol.for(", "[Symbol.for("),
      style: textOf("css"),
      // As they were before the build that counts: what changes during it is seen as changed.
      seen: [...before, ...(await Promise.all(later.map(see)))].filter(
        ({ path }) => !/[\\/]node_modules[\\/]/.test(relative(directory, path)),
      ),
    };
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (!Array.isArray(errors)) throw error;
    return { kind: "failed", problems: errors.map((each) => describe(each, file)) };
  }
}

function inputsOf({ metafile }: BuildResult, directory: string): string[] {
  return Object.keys(metafile?.inputs ?? {})
    .filter((path) => !path.startsWith("treadle-ui-"))
    .map((path) => resolve(directory, path));
}

/** A missing file has no time: when it appears, the bundle is rebuilt. */
async function see(path: string): Promise<SeenFile> {
  const found = await stat(path).catch(() => undefined);
  return { path, mtimeMs: found?.mtimeMs };
}

function describe({ text, location }: Message, file: string): string {
  if (location === null) return text;
  if (location.namespace === entryNamespace || location.file.startsWith(entryNamespace)) {
    return /No matching export in .* for import "default"/.test(text)
      ? `${file}: it has no default export. Export an object of names and components: export default { weather: Weather }.`
      : `${file}: ${text}`;
  }
  return `${location.file}:${location.line}:${location.column + 1}: ${text}`;
}
