import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** The rules of the house for the pages: see ARCHITECTURE.md for the reasons. */
const root = fileURLToPath(new URL("..", import.meta.url));
const maxLines = 400;

type Source = { path: string; text: string; imports: { target: string; typeOnly: boolean }[] };

const sources: Source[] = ["web/console/src", "web/chat/src"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(tsx?|css)$/.test(name))
    .map((name) => {
      const path = join(folder, name);
      const text = readFileSync(join(root, path), "utf8");
      return { path, text, imports: importsOf(path, text) };
    }),
);
const isTest = ({ path }: Source) => /\.test\.tsx?$/.test(path);
const production = sources.filter((source) => !isTest(source));

function importsOf(path: string, text: string): Source["imports"] {
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b(\s+type\b)?[^"';]*?(?:from\s*)?"([^"]+)"|import\(\s*"([^"]+)"\s*\)/g,
  );
  return [...found].map(([, type, name, later]) => {
    const given = name ?? later!;
    const target = given.startsWith(".") ? relative(root, resolve(root, dirname(path), given)) : given;
    // What is loaded later closes no circle while modules are read.
    return { target, typeOnly: type !== undefined || later !== undefined };
  });
}

it(`files stay under ${maxLines} lines, style sheets too`, () => {
  const long = sources.filter(({ text }) => text.split("\n").length > maxLines);
  expect(long.map(({ path }) => path)).toEqual([]);
});

it("names are plain, without drawers", () => {
  const odd = sources.filter(({ path }) => {
    const parts = path.split("/");
    const badName = !/^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.(tsx?|css)$/.test(parts.at(-1)!);
    return badName || parts.some((part) => ["utils", "helpers", "common", "shared", "lib"].includes(part));
  });
  expect(odd.map(({ path }) => path)).toEqual([]);
});

/** Rules that a page and the command line must decide alike, in one text: what a folder's upload leaves out. */
const sharedRules = ["src/cli/project/ignore-rules.ts"];

it("pages talk to the server over HTTP: of its code they know the generated types and a few pure rules", () => {
  const crossings = production.flatMap(({ path, imports }) => {
    const own = path.split("/").slice(0, 3).join("/");
    return imports
      .filter(({ target }) => /^(src|web|scripts|tests|openapi|bench)\//.test(target))
      .filter(
        ({ target, typeOnly }) =>
          !target.startsWith(`${own}/`) &&
          !(typeOnly && target === "openapi/wire.d.ts") &&
          !sharedRules.includes(target),
      )
      .map(({ target }) => `${path} -> ${target}`);
  });
  expect(crossings).toEqual([]);
  const withImports = sharedRules.filter((path) => /^import\b/m.test(readFileSync(join(root, path), "utf8")));
  expect(withImports).toEqual([]);
});

it("what pages are made of knows no page", () => {
  const back = production
    .filter(({ path }) => /^web\/console\/src\/(ui|api)\//.test(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => /^web\/console\/src\/(pages|shell)\//.test(target))
        .map(({ target }) => `${path} -> ${target}`),
    );
  expect(back).toEqual([]);
});

describe("circles", () => {
  it("no file is part of one", () => {
    expect(findCycle(new Map(production.map((source) => [source.path, source])))).toEqual([]);
  });

  it("and one would be seen", () => {
    const file = (path: string, ...targets: string[]): [string, Source] => [
      path,
      { path, text: "", imports: targets.map((target) => ({ target, typeOnly: false })) },
    ];
    expect(findCycle(new Map([file("a", "b"), file("b", "c"), file("c", "b")]))).toEqual(["b", "c", "b"]);
  });
});

/** A rule: a function that neither draws nor asks, so that it can be tried without a browser. */
it("rules have their tests beside them", () => {
  const touches =
    /^(react|react-dom|@tanstack\/|wouter|@langchain\/)|\/(client|session|connection|lazy-page|([\w-]+-)?api)\.ts$|\.tsx$/;
  const untested = production.filter(({ path, text, imports }) => {
    const isRule =
      path.endsWith(".ts") &&
      /^export (async )?function /m.test(text) &&
      !/\b(document|window|location|sessionStorage|localStorage|navigator|fetch)\b[.(]/.test(text) &&
      !imports.some(({ target, typeOnly }) => !typeOnly && touches.test(target));
    return isRule && !existsSync(join(root, path.replace(/\.ts$/, ".test.ts")));
  });
  expect(untested.map(({ path }) => path)).toEqual([]);
});

function findCycle(byPath: ReadonlyMap<string, Source>): string[] {
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): string[] => {
    const source = byPath.get(path);
    if (!source || done.has(path)) return [];
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    trail.push(path);
    for (const { target, typeOnly } of source.imports) {
      const cycle = typeOnly ? [] : visit(target);
      if (cycle.length > 0) return cycle;
    }
    trail.pop();
    done.add(path);
    return [];
  };
  for (const path of byPath.keys()) {
    const cycle = visit(path);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

/** The page folder that a file belongs to; null: what is loaded with every page. */
const pageOf = (path: string) => /^web\/console\/src\/pages\/([^/]+)\//.exec(path)?.[1] ?? null;

/** The classes whose rules hold on every page: those that a selector begins with, unless it asks what is inside. */
function classesStyledBy({ text }: Source): Set<string> {
  const selectors = text.replace(/\/\*[\s\S]*?\*\//g, "").matchAll(/([^{};]+)\{/g);
  const parts = [...selectors]
    .flatMap(([, list]) => list!.split(","))
    .filter((part) => !part.includes(":has("));
  return new Set(parts.flatMap((part) => /^\s*\.([\w-]+)/.exec(part)?.[1] ?? []));
}

it("a page looks the same whichever pages were open before: style sheets of pages share no class", () => {
  const sheets = production.filter(({ path }) => path.endsWith(".css"));
  const shared = new Set(
    sheets.filter(({ path }) => pageOf(path) === null).flatMap((each) => [...classesStyledBy(each)]),
  );
  const owners = new Map<string, Set<string>>();
  for (const sheet of sheets.filter(({ path }) => pageOf(path) !== null)) {
    for (const name of classesStyledBy(sheet)) {
      owners.set(name, (owners.get(name) ?? new Set()).add(pageOf(sheet.path)!));
    }
  }
  const twice = [...owners].filter(([, pages]) => pages.size > 1).map(([name]) => name);
  expect(twice).toEqual([]);

  const sheetsOf = (page: string) =>
    production
      .filter(({ path }) => pageOf(path) === page)
      .flatMap(({ imports }) => imports.map(({ target }) => pageOf(target)));
  const borrowed = production.flatMap(({ path, text }) => {
    const page = pageOf(path);
    if (page === null) return [];
    const words = [...text.matchAll(/className="([^"]+)"/g)].flatMap(([, names]) => names!.split(/\s+/));
    const foreign = words.filter((name) => {
      const [owner] = owners.get(name) ?? [page];
      return !shared.has(name) && owner !== page && !sheetsOf(page).includes(owner!);
    });
    return foreign.map((name) => `${path} uses .${name}`);
  });
  expect(borrowed).toEqual([]);
});
