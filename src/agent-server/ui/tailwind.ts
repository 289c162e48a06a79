import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin, PluginBuild } from "esbuild";
import { compile } from "tailwindcss";
import { errorMessage } from "../../platform/errors.ts";

const own = createRequire(import.meta.url);
/** What makes a style sheet one of Tailwind's. */
const directive =
  /@(?:apply|config|custom-variant|plugin|reference|source|tailwind|theme|utility|variant)\b|@import\s+(?:url\()?["']tailwindcss/;

/**
 * Style sheets that use Tailwind 4, without a setting and without the package among the project's own, as projects
 * written for the original have it. The classes are those that stand in the bundle's scripts, so nothing else of the
 * project is read.
 */
export function tailwindPlugin(options: {
  candidates: readonly string[];
  onRead(path: string): void;
}): Plugin {
  return {
    name: "treadle-ui-tailwind",
    setup(build) {
      build.onLoad({ filter: /\.css$/, namespace: "file" }, async ({ path }) => {
        const source = await readFile(path, "utf8");
        if (!directive.test(source)) return undefined;
        try {
          const compiled = await compile(source, {
            base: dirname(path),
            from: path,
            loadStylesheet: async (id, base) => {
              const found = await findStylesheet(build, id, base);
              options.onRead(found);
              return { path: found, base: dirname(found), content: await readFile(found, "utf8") };
            },
            loadModule: async (id, base) => {
              const found = createRequire(join(base, "package.json")).resolve(id);
              const { default: module } = await import(pathToFileURL(found).href);
              return { path: found, base: dirname(found), module };
            },
          });
          const loader = path.endsWith(".module.css") ? "local-css" : "css";
          return { contents: compiled.build([...options.candidates]), loader, resolveDir: dirname(path) };
        } catch (error) {
          const text = errorMessage(error);
          return { errors: [{ text, location: { file: path, ...placeOf(text, source) } }] };
        }
      });
    },
  };
}

/** The error names what it stumbled over, not where that stands. */
function placeOf(message: string, source: string): { line: number; column: number } {
  const [, word = ""] = /[`"']([^`"']+)[`"']/.exec(message) ?? [];
  const before = source.slice(0, Math.max(0, word === "" ? 0 : source.indexOf(word))).split("\n");
  return { line: before.length, column: before.at(-1)!.length };
}

/** The project's, else the copy this server brings. */
async function findStylesheet(build: PluginBuild, id: string, base: string): Promise<string> {
  const ask = { kind: "import-rule", resolveDir: base } as const;
  for (const name of id.startsWith(".") ? [id] : [id, `./${id}`]) {
    const { path, errors } = await build.resolve(name, ask);
    if (errors.length === 0 && path.endsWith(".css")) return path;
  }
  const part = /^tailwindcss(?:\/(preflight|theme|utilities|index)(?:\.css)?)?$/.exec(id);
  if (part) return own.resolve(`tailwindcss/${part[1] ?? "index"}.css`);
  throw new Error(`The style sheet "${id}" cannot be found from ${base}. Install the package that has it.`);
}

/** Everything in a script that could be a class; Tailwind leaves alone what is none. */
export function candidatesIn(text: string): Set<string> {
  const found = new Set<string>();
  const add = (word: string) => {
    if (word.length > 0 && word.length <= 200) found.add(word);
  };
  for (const word of text.split(/[\s"'`]+/)) {
    add(word);
    add(word.replace(/^[({[,;:>=!?.]+|[)},;:<=?.\\]+$/g, ""));
  }
  // Classes with a quote in them, as in before:content-['→'], stand whole in a text of the other quotes.
  for (const [, double, single, back] of text.matchAll(/"([^"\n]*)"|'([^'\n]*)'|`([^`]*)`/g)) {
    for (const word of (double ?? single ?? back ?? "").split(/\s+/)) add(word);
  }
  return found;
}
