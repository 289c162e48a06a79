import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { create } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkProject } from "../../src/agent-server/graphs/check-project.ts";
import { childEnvironments } from "../../src/config/index.ts";
import { ArtifactShelf } from "../../src/control-plane/builds/artifact-shelf.ts";
import type { BuildRequest, Built } from "../../src/control-plane/builds/build-request.ts";
import { Builder, type BuilderOptions } from "../../src/control-plane/builds/builder/builder.ts";
import type { GitSource } from "../../src/control-plane/builds/git/git-source.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { raw } from "../../src/platform/db/raw.ts";
import type { GitFiles } from "../support/components/git-repository.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { machineWalls } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { readExample } from "../support/deployments.ts";

const run = promisify(execFile);
const timeout = 240_000;

let test: TestDatabase;
let folder: TempFolder;
const workspace = randomUUID();

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  folder = await createTempFolder("python-builds");
  const { sql } = test.database;
  await raw`insert into organizations (id, name) values (${workspace}, 'o')`.execute(sql);
  await raw`insert into workspaces (id, organization_id, name) values (${workspace}, ${workspace}, 'w')`.execute(
    sql,
  );
});
afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

/** Behind the walls that are in force on this machine. */
function open(more: Partial<BuilderOptions> = {}): Builder {
  return new Builder({
    ...{ database: test.database, clock: systemClock, git: {} as GitSource, checkProject },
    ...{ folder: folder.path, environment: childEnvironments().build, pythons: [] },
    ...{ timeoutMs: timeout, maxBytes: 500_000_000, maxAtOnce: 1, walls: machineWalls() },
    shelf: new ArtifactShelf({
      ...{ database: test.database, clock: systemClock, blobs: null, maxBytes: 1e9 },
      folder: join(folder.path, "artifacts"),
    }),
    ...more,
  });
}

async function build(
  files: GitFiles,
  { builder = open(), install }: { builder?: Builder; install?: string } = {},
) {
  const source = join(folder.path, "sources", randomUUID());
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(source, name)), { recursive: true });
    await writeFile(join(source, name), text ?? "");
  }
  const file = `${source}.tar.gz`;
  await create({ file, gzip: true, cwd: source, portable: true, mtime: new Date(0) }, Object.keys(files));
  const sha256 = createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
  const lines: string[] = [];
  const notes: string[] = [];
  const request: BuildRequest = {
    ...{ revisionId: randomUUID(), workspaceId: workspace, revisionConfig: {} },
    buildConfig: install === undefined ? {} : { install_command: install },
    source: async () => ({ kind: "tarball", sha256, save: (to: string) => copyFile(file, to) }),
    signal: new AbortController().signal,
    onLine: (line: string) => void lines.push(line),
    onCommit: async () => {},
    note: async (message: string) => void notes.push(message),
  } as unknown as BuildRequest;
  const again = () => builder.build({ ...request, revisionId: randomUUID() });
  const built = await builder.build(request).catch((error: Error) => error);
  return { built, lines, notes, again, workFolder: builder.workFolderOf(request.revisionId) };
}

function pathOf(built: Built | Error): string {
  if (built instanceof Error) throw built;
  return built.path;
}

/** As a server would find it, in a place that nobody knew when it was built. */
async function moved(built: Built | Error): Promise<string> {
  const place = join(folder.path, `moved-${randomUUID()}`);
  await rename(pathOf(built), place);
  return place;
}

async function python(place: string, code: string): Promise<string> {
  const { stdout } = await run(join(place, ".venv", "bin", "python"), ["-I", "-c", code], { cwd: "/" });
  return stdout.trim();
}

/** Files that name the folder they were built in. */
async function filesNaming(place: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(path)).includes(text)) found.push(path.slice(place.length + 1));
  }
  return found;
}

const graph = `from langgraph.graph import END, START, MessagesState, StateGraph

graph = StateGraph(MessagesState).add_node("n", lambda state: {}).add_edge(START, "n").add_edge("n", END).compile()
`;
const project = (more: object = {}) =>
  JSON.stringify({ graphs: { agent: "./agent.py:graph" }, dependencies: ["."], ...more });

describe("a Python project is built", () => {
  describe("with a slow import", () => {
    const slow = (seconds: number) => ({
      "langgraph.json": project({ dependencies: ["langgraph"] }),
      "agent.py": `import time\n\nprint("reading a model")\ntime.sleep(${seconds})\n${graph}`,
    });

    it("that ends in time, and tells meanwhile that it goes on", { timeout }, async () => {
      const { built, lines, notes } = await build(slow(60), { builder: open({ importLimitMs: 180_000 }) });
      pathOf(built);
      expect(lines).toContain("Importing graph agent");
      expect(lines).toContainEqual(
        expect.stringMatching(/^Still importing after \d+ s; it may take 180 s\.$/),
      );
      expect(notes.filter((note) => note.startsWith("Warning"))).toEqual([]);
      expect(lines).not.toContainEqual(expect.stringContaining("descriptions of the graphs were not stored"));
    });

    it("that takes too long, with a warning that says where it was", { timeout }, async () => {
      const { built, notes } = await build(slow(600), { builder: open({ importLimitMs: 6_000 }) });
      pathOf(built);
      expect(notes).toContain(
        "Warning: the imports could not be checked (it did not finish within 6 s: reading a model). Errors will show when the server starts.",
      );
    });
  });

  it("by its uv.lock, and works wherever it is moved", { timeout }, async () => {
    const { built, lines, workFolder } = await build(await readExample("react-agent-python"));
    const place = await moved(built);
    expect(lines).toContain("$ uv sync --frozen --no-dev --no-editable");
    expect(await filesNaming(place, workFolder)).toEqual([]);
    const code =
      "import react_agent.graph, langgraph; print(react_agent.graph.graph.name, langgraph.__path__[0])";
    expect(await python(place, code)).toBe(
      `LangGraph ${join(place, ".venv/lib")}/python${await python(place, "import sys; print('%d.%d' % sys.version_info[:2])")}/site-packages/langgraph`,
    );
    // A server answers with what the build found its graphs to declare.
    const kept = JSON.parse(await readFile(join(place, ".venv", "treadle-graphs.json"), "utf8"));
    expect(kept.graphs.agent.schemas.input_schema.properties).toHaveProperty("messages");
    expect(kept.graphs.agent.drawings.plain.nodes.map(({ id }: { id: string }) => id)).toContain("tools");
    // Programs of packages find the Python beside them.
    const { stdout } = await run(join(place, ".venv", "bin", "jsonpointer"), ["--help"]);
    expect(stdout).toContain("usage: jsonpointer");
    // A server cannot write there: everything is compiled already.
    expect((await stat(join(place, "src/react_agent/__pycache__"))).isDirectory()).toBe(true);
  });

  it("by its requirements.txt alone, once", { timeout }, async () => {
    const { built, again } = await build(await readExample("multi-graph-python"));
    const path = pathOf(built);
    expect(await again()).toMatchObject({ cached: true, path });
    const place = await moved(built);
    expect(await python(place, "import state, writer; print(state.__file__)")).toBe(join(place, "state.py"));
  });

  it("by the metadata of a package with a src layout", { timeout }, async () => {
    const { built } = await build({
      "langgraph.json": project({ graphs: { agent: "my_agent.graph:graph" } }),
      "pyproject.toml": `[project]
name = "my-agent"
version = "1.0"
dependencies = ["langgraph"]
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"
[tool.setuptools.packages.find]
where = ["src"]
`,
      "src/my_agent/__init__.py": "",
      "src/my_agent/graph.py": graph,
    });
    const place = await moved(built);
    expect(await python(place, "import my_agent.graph as g; print(g.__file__)")).toContain("site-packages");
  });

  it("by pip, where it asks for pip, and by its Poetry lock file", { timeout }, async () => {
    const { built, lines, workFolder } = await build({
      "langgraph.json": project({ pip_installer: "pip" }),
      "pyproject.toml": `[tool.poetry]
name = "agent"
version = "1.0"
description = ""
package-mode = false
[tool.poetry.dependencies]
python = "^3.10"
six = "*"
[build-system]
requires = ["poetry-core"]
build-backend = "poetry.core.masonry.api"
`,
      "poetry.lock": `[[package]]
name = "six"
version = "1.16.0"
optional = false
groups = ["main"]
`,
      "agent.py": `import six\n${graph}`,
    });
    const place = await moved(built);
    expect(lines.some((line) => /^\$ python -m pip install -r \S+poetry-0\.txt/.test(line))).toBe(true);
    expect(await python(place, "import six; print(six.__version__)")).toBe("1.16.0");
    expect(await filesNaming(place, workFolder)).toEqual([]);
    await run(join(place, ".venv", "bin", "pip"), ["--version"]);
  });

  it("by its own command, in the environment that is made for it", { timeout }, async () => {
    const files = { "langgraph.json": project(), "agent.py": graph };
    const { built } = await build(files, { install: "uv pip install langgraph" });
    expect(await python(await moved(built), "import langgraph; print('there')")).toBe("there");
  });

  it("although an import needs what only the server has", { timeout }, async () => {
    const { built, notes } = await build({
      "langgraph.json": project(),
      "requirements.txt": "langgraph\n",
      "agent.py": `import os\nprint("an import that prints")\nkey = os.environ["MODEL_KEY"]\n${graph}`,
    });
    expect(pathOf(built)).toContain("artifacts");
    expect(notes.filter((note) => note.startsWith("Warning"))).toEqual([
      "Warning: graph agent (agent.py, line 3): KeyError: 'MODEL_KEY'. The server may have what this needs, such as a key.",
    ]);
  });
});

it("is built although its imports print, fork and set a loop policy; one that leaves is named", {
  timeout,
}, async () => {
  const files = {
    "requirements.txt": "langgraph\n",
    "printing.py": `import sys\nprint("out")\nprint("err", file=sys.stderr)\n${graph}`,
    "forking.py": `import os\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\n${graph}`,
    "policy.py": `import asyncio\nasyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())\n${graph}`,
    "leaving.py": `import sys\nsys.exit(3)\n${graph}`,
  };
  const graphs = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, `./${name}.py:graph`]));
  const fine = await build({
    ...files,
    "langgraph.json": project({ graphs: graphs("printing", "forking", "policy") }),
  });
  expect(pathOf(fine.built)).toContain("artifacts");
  expect(fine.notes.filter((note) => note.startsWith("Warning"))).toEqual([]);
  const leaving = await build({
    ...files,
    "langgraph.json": project({ graphs: graphs("printing", "leaving") }),
  });
  const told = [...leaving.notes, leaving.built instanceof Error ? leaving.built.message : ""].join("\n");
  expect(told).toContain(
    "graph leaving (leaving.py, line 2): SystemExit: the module called sys.exit(3) while it was imported",
  );
});

describe("a Python project is not built", () => {
  const messageOf = (built: Built | Error) => (built instanceof Error ? built.message : "was built");

  it("without a Python that fits, and lists those there are", { timeout }, async () => {
    const environment = {
      ...childEnvironments().build,
      UV_PYTHON_INSTALL_MIRROR: "http://127.0.0.1:9/pythons",
    };
    const { built } = await build(
      { "langgraph.json": project({ python_version: "3.9" }), "agent.py": graph },
      { builder: open({ environment }) },
    );
    expect(messageOf(built)).toMatch(
      /^python_version requires Python 3\.9, and no Python on this machine fits\. The oldest that is served is 3\.10\.\nFound:\n {2}3\.\d+\.\d+ at \//,
    );
  });

  it("with a package that does not exist", { timeout }, async () => {
    const name = "no-such-package-of-treadle";
    const { built } = await build({
      "langgraph.json": project(),
      "requirements.txt": `${name}\n`,
      "agent.py": graph,
    });
    expect(messageOf(built)).toMatch(
      new RegExp(`^uv could not install the packages: the package ${name} does not exist at https?://`),
    );
    expect(messageOf(built)).toContain("(uv pip install");
  });

  it.each(["uv", "pip"])("where %s reaches no package index", { timeout }, async (installer) => {
    const nowhere = "http://127.0.0.1:9/simple";
    const environment = {
      ...childEnvironments().build,
      ...(installer === "uv" ? { UV_DEFAULT_INDEX: nowhere } : { PIP_INDEX_URL: nowhere, PIP_RETRIES: "1" }),
    };
    const { built } = await build(
      {
        "langgraph.json": project({ pip_installer: installer }),
        "requirements.txt": "langgraph\n",
        "agent.py": graph,
      },
      { builder: open({ environment }) },
    );
    expect(messageOf(built)).toContain(
      `the package index ${nowhere} cannot be reached from this machine. Check its network, or set UV_DEFAULT_INDEX or PIP_INDEX_URL to one it reaches.`,
    );
  });

  describe("with a package in C", () => {
    const files = (code: string) => ({
      "langgraph.json": project(),
      "requirements.txt": "langgraph\n./native\n",
      "native/setup.py":
        'from setuptools import Extension, setup\n\nsetup(name="native", version="1.0", ext_modules=[Extension("native", ["native.c"])])\n',
      "native/native.c": code,
      "agent.py": graph,
    });

    it("without a compiler, and says what to install", { timeout }, async () => {
      const environment = { ...childEnvironments().build, CC: "no-such-gcc" };
      const { built } = await build(files("#include <Python.h>\n"), { builder: open({ environment }) });
      expect(messageOf(built)).toMatch(
        /there is no wheel of native.* for Python 3\.\d+\.\d+ on linux \w+, and building it needs no-such-gcc, which this machine has not\..*build-essential, python3-dev/,
      );
    });

    it("whose header the machine has not, and names it", { timeout }, async () => {
      const { built } = await build(files("#include <no_such_library.h>\n"));
      expect(messageOf(built)).toMatch(
        /there is no wheel of native.*, which is to build it, did not find no_such_library\.h\..*the package of its system that has no_such_library\.h\./,
      );
    });
  });

  it("with imports that cannot work, each named with its place", { timeout }, async () => {
    const { built } = await build({
      "langgraph.json": project({
        graphs: {
          one: "./one.py:graph",
          two: "./two.py:graph",
          three: "./three.py:graf",
          four: "./four.py:graph",
        },
      }),
      "requirements.txt": "langgraph\n",
      "one.py": `import os\nimport no_such_module\n${graph}`,
      "two.py": "def graph(:\n  pass\n",
      "three.py": graph,
      "four.py": graph,
    });
    const text = messageOf(built);
    expect(text).toContain("langgraph.json names things that cannot be imported:");
    expect(text).toContain(
      "graph one (one.py, line 2): ModuleNotFoundError: No module named 'no_such_module'",
    );
    expect(text).toMatch(/graph two \(two\.py, line 1\): SyntaxError/);
    expect(text).toMatch(/graph three.*has no attribute 'graf'/);
    expect(text).not.toContain("graph four");
  });

  it("larger than a build may be", { timeout }, async () => {
    const files = { "langgraph.json": project(), "requirements.txt": "langgraph\n", "agent.py": graph };
    const { built } = await build(
      { ...files, "note.txt": "large" },
      { builder: open({ maxBytes: 20_000_000 }) },
    );
    expect(messageOf(built)).toMatch(/^The built project is larger than the limit of 19 MB/);
  });
});
