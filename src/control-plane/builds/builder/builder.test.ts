import { createHash, randomUUID } from "node:crypto";
import {
  appendFile,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { create } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../../tests/support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { checkProject } from "../../../agent-server/graphs/check-project.ts";
import { systemClock } from "../../../platform/clock.ts";
import { raw } from "../../../platform/db/raw.ts";
import { Walls } from "../../sandbox/walls.ts";
import { ArtifactShelf } from "../artifact-shelf.ts";
import type { BuildRequest, BuildSource } from "../build-request.ts";
import type { GitSource } from "../git/git-source.ts";
import { knownInstall } from "../node/install-key.ts";
import { readPackageFolders } from "../node/package-folders.ts";
import { planInstall } from "../node/package-manager.ts";
import { Builder, type BuilderOptions } from "./builder.ts";

/** Sources are archives here; tests/journeys cover those from git. */
const git = {} as GitSource;
const graphs = (path: string) => JSON.stringify({ graphs: { agent: `${path}:graph` }, dependencies: ["."] });

let test: TestDatabase;
let folder: TempFolder;
let count = 0;
const own = randomUUID();
const other = randomUUID();

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  folder = await createTempFolder("builder");
  const { sql } = test.database;
  await raw`insert into organizations (id, name) values (${own}, 'o')`.execute(sql);
  for (const id of [own, other]) {
    await raw`insert into workspaces (id, organization_id, name) values (${id}, ${own}, ${id})`.execute(sql);
  }
});
afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

function open(more: Partial<BuilderOptions> = {}): Builder {
  return new Builder({
    ...{ database: test.database, clock: systemClock, git, checkProject, folder: folder.path },
    ...{
      environment: { PATH: process.env.PATH! },
      pythons: [],
      timeoutMs: 60_000,
      maxBytes: 1_000_000,
      maxAtOnce: 2,
    },
    walls: new Walls({ setting: "off", mustPass: [] }),
    shelf: new ArtifactShelf({
      ...{ database: test.database, clock: systemClock, blobs: null, maxBytes: 1e9 },
      folder: join(folder.path, "artifacts"),
    }),
    ...more,
  });
}

async function archive(files: Record<string, string>): Promise<BuildSource> {
  count += 1;
  const source = join(folder.path, "sources", String(count));
  await mkdir(source, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(source, name), text);
  const file = `${source}.tar.gz`;
  await create({ file, gzip: true, cwd: source }, Object.keys(files));
  return {
    kind: "tarball",
    save: (to) => copyFile(file, to),
    sha256: createHash("sha256")
      .update(await readFile(file))
      .digest("hex"),
  };
}

type Asked = Partial<Omit<BuildRequest, "buildConfig">> & {
  buildConfig?: Partial<BuildRequest["buildConfig"]>;
};

function ask(source: BuildSource, more: Asked = {}) {
  const lines: string[] = [];
  const notes: string[] = [];
  const request: BuildRequest = {
    ...{ revisionId: randomUUID(), workspaceId: own, source: async () => source },
    ...{ revisionConfig: {}, buildConfig: {}, signal: new AbortController().signal },
    onLine: (line) => lines.push(line),
    onCommit: async () => {},
    note: async (message) => void notes.push(message),
    ...more,
  } as BuildRequest;
  return { request, lines, notes };
}

const project = { "langgraph.json": graphs("./agent.js"), "agent.js": "export const graph = {};" };
const left = async (builder: Builder, { revisionId }: BuildRequest) =>
  readdir(builder.workFolderOf(revisionId)).catch((error: NodeJS.ErrnoException) => error.code);

describe("a build", () => {
  it("is kept under a name that follows from its source, and made once for a workspace", async () => {
    const builder = open();
    const { request } = ask(await archive(project));
    const built = await builder.build(request);
    expect(built).toMatchObject({ cached: false, path: join(builder.artifacts, built.artifactKey) });
    expect(await readFile(join(built.path, "agent.js"), "utf8")).toBe(project["agent.js"]);
    expect(await left(builder, request)).toBe("ENOENT");

    expect(await builder.build({ ...request, revisionId: randomUUID() })).toEqual({ ...built, cached: true });
    const elsewhere = await builder.build({ ...request, workspaceId: other });
    expect(elsewhere).toMatchObject({ cached: false });
    expect(elsewhere.artifactKey).not.toBe(built.artifactKey);
  });

  it("whose folder is gone is made again", async () => {
    const builder = open();
    const { request } = ask(await archive({ ...project, "note.txt": "gone" }));
    const { path } = await builder.build(request);
    await rm(path, { recursive: true });
    expect(await builder.build(request)).toMatchObject({ cached: false, path });
  });

  it("may make the files that the project names", async () => {
    const source = await archive({ "langgraph.json": graphs("./made.js"), "agent.js": "// made" });
    const { request, lines } = ask(source, { buildConfig: { build_command: "cp agent.js made.js" } });
    const { path } = await open().build(request);
    expect(await readFile(join(path, "made.js"), "utf8")).toBe("// made");
    expect(lines).toContain("$ cp agent.js made.js");
  });
});

describe("a build fails, and leaves nothing behind,", () => {
  it.each([
    ["without a project file", { "agent.js": "" }, {}, "There is no file langgraph.json in the source."],
    [
      "with a file that is nowhere",
      { "langgraph.json": graphs("./agent.js") },
      {},
      "names files that do not exist",
    ],
    ["with a file outside", { "langgraph.json": graphs("../agent.js") }, {}, "is outside the source"],
    [
      "when a command does",
      project,
      { build_command: "ls no-such-folder" },
      "build_command failed (ls no-such-folder",
    ],
    [
      "with a line break in a name",
      project,
      { build_command: `node -e 'require("fs").mkdirSync("a\\nb")'` },
      'line break in their name or target: "a\\nb". Rename or remove them.',
    ],
    ["without the program", project, { build_command: "no-such-program" }, "no-such-program"],
  ])("%s", async (_why, files, buildConfig, message) => {
    const builder = open();
    const { request } = ask(await archive(files), { buildConfig });
    await expect(builder.build(request)).rejects.toThrow(message);
    expect(await left(builder, request)).toBe("ENOENT");
    expect(await builder.build(request).catch((error: Error) => error.message)).toContain(message);
  });

  it("when the result is too large", async () => {
    const { request } = ask(await archive({ ...project, "large.txt": "x".repeat(5_000) }), {
      buildConfig: { build_command: "cp large.txt larger.txt" },
    });
    await expect(open({ maxBytes: 8_000 }).build(request)).rejects.toThrow(
      "The built project is larger than",
    );
  });

  it("when it is called off", async () => {
    const called = new AbortController();
    const builder = open();
    const { request } = ask(await archive(project), {
      signal: called.signal,
      buildConfig: { build_command: "sleep 60" },
      onLine: (line) => line === "$ sleep 60" && called.abort(new Error("called off")),
    });
    await expect(builder.build(request)).rejects.toThrow("called off");
    expect(await left(builder, request)).toBe("ENOENT");
  });
});

describe("turns", () => {
  it("a host that hangs holds no builder of others", async () => {
    const builder = open({ maxAtOnce: 1 });
    const hanging = new AbortController();
    const stuck = ask({} as BuildSource, {
      signal: hanging.signal,
      source: (signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    const never = builder.build(stuck.request);
    const { request } = ask(await archive({ ...project, "note.txt": "not held" }));
    expect(await builder.build(request)).toMatchObject({ cached: false });
    hanging.abort(new Error("called off"));
    await expect(never).rejects.toThrow("called off");
  });

  it("a build that has to wait for another logs that", async () => {
    const builder = open({ maxAtOnce: 1 });
    const running = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const first = ask(await archive({ ...project, "note.txt": "first" }), {
      note: async (message) => {
        if (!message.startsWith("Checking")) return;
        running.resolve();
        await goOn.promise;
      },
    });
    const built = builder.build(first.request);
    await running.promise;
    const waits = Promise.withResolvers<void>();
    const second = ask(await archive({ ...project, "note.txt": "second" }), {
      note: async (message) => {
        if (message === "Waiting for a free builder.") waits.resolve();
      },
    });
    const next = builder.build(second.request);
    await waits.promise;
    goOn.resolve();
    expect(await Promise.all([built, next])).toMatchObject([{ cached: false }, { cached: false }]);
  });
});

describe("packages that were installed before", () => {
  let registry: Server;
  let files: Record<string, string>;
  const reused = "Reusing the packages that an earlier build installed (package-lock.json is the same)";
  const pristine = "export const said = 'as published';";
  const inPack = (path: string) => join(path, "node_modules", "pack", "index.js");
  /** In a sandbox and as other users where the machine can, as builds of strangers. */
  const walls = new Walls({ setting: "auto", mustPass: [] });
  const environment = { PATH: [dirname(process.execPath), process.env.PATH!].join(delimiter) };

  beforeAll(async () => {
    const source = join(folder.path, "pack");
    await mkdir(join(source, "package"), { recursive: true });
    await writeFile(join(source, "package/package.json"), '{"name":"pack","version":"1.0.0"}');
    await writeFile(join(source, "package/index.js"), pristine);
    await create({ file: `${source}.tgz`, gzip: true, cwd: source }, ["package"]);
    const packed = await readFile(`${source}.tgz`);
    registry = createServer((_request, response) => response.end(packed));
    await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
    const resolved = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/pack-1.0.0.tgz`;
    const integrity = `sha512-${createHash("sha512").update(packed).digest("base64")}`;
    const about = { name: "own", version: "1.0.0", dependencies: { pack: "1.0.0" } };
    const lock = JSON.stringify({
      ...{ name: "own", version: "1.0.0", lockfileVersion: 3, requires: true },
      packages: { "": about, "node_modules/pack": { version: "1.0.0", resolved, integrity } },
    });
    files = { ...project, "package.json": JSON.stringify(about), "package-lock.json": lock };
  });
  afterAll(() => registry?.close());

  /** Writes where another build could read from: into its own packages, and where the platform keeps them. */
  const attack = (kept: string) => `import { appendFileSync, readdirSync } from "node:fs";
appendFileSync("node_modules/pack/index.js", "// changed by a build");
try {
  for (const key of readdirSync(${JSON.stringify(kept)}))
    appendFileSync(${JSON.stringify(kept)} + "/" + key + "/node_modules/pack/index.js", "// changed in the store");
} catch (error) { console.log("store: " + error.code); }`;

  it("are copied: neither a build nor a server changes what another one gets", {
    timeout: 240_000,
  }, async () => {
    const builder = open({ walls, environment, timeoutMs: 240_000 });
    const kept = join(folder.path, "installed");
    const build = async (note: string, more: Asked = {}) => {
      const source = await archive({ ...files, "note.txt": note, "attack.js": attack(kept) });
      const { request, lines, notes } = ask(source, more);
      const { path } = await builder.build(request);
      return { path, lines, isReused: notes.includes(reused), said: await readFile(inPack(path), "utf8") };
    };
    const buildConfig = { build_command: "node attack.js" };
    const first = await build("first", { buildConfig });
    expect(first).toMatchObject({ isReused: false, said: `${pristine}// changed by a build` });
    expect(first.lines).toContain("$ npm ci");
    expect(first.lines).toContainEqual(expect.stringMatching(/^store: (ENOENT|EACCES)$/));
    expect((await stat(kept)).mode & 0o777).toBe(0o700);

    const second = await build("second");
    expect(second).toMatchObject({ isReused: true, said: pristine });
    expect(second.lines).not.toContain("$ npm ci");
    // As a server that is behind no walls could.
    await appendFile(inPack(second.path), "// changed by a server");

    const third = await build("third", { buildConfig });
    expect(third).toMatchObject({ isReused: true, said: `${pristine}// changed by a build` });
    const fourth = await build("fourth");
    expect(fourth).toMatchObject({ isReused: true, said: pristine });
    const [key] = await readdir(kept);
    const all = [...[first, second, third, fourth].map(({ path }) => path), join(kept, key!)];
    const found = await Promise.all(all.map((path) => stat(inPack(path))));
    expect(new Set(found.map(({ ino }) => ino)).size).toBe(all.length);
    expect(new Set(found.map(({ uid, nlink }) => `${uid} ${nlink}`))).toEqual(
      new Set([`${process.getuid!()} 1`]),
    );

    expect(await build("elsewhere", { workspaceId: other })).toMatchObject({
      isReused: false,
      said: pristine,
    });
    expect(await readdir(kept)).toHaveLength(2);
  });

  it("are known by everything that decides what npm makes", async () => {
    let trees = 0;
    const keyOf = async (more: Record<string, string>, of: { workspaceId?: string; name?: string } = {}) => {
      trees += 1;
      const tree = join(folder.path, "known", String(trees));
      for (const [name, text] of Object.entries({ ...files, ...more })) {
        await mkdir(dirname(join(tree, name)), { recursive: true });
        await writeFile(join(tree, name), text);
      }
      const folders = await readPackageFolders(tree, of.name ?? ".");
      const { workspaceId = own } = of;
      const known = await knownInstall({
        workspaceId,
        tree,
        plan: planInstall(folders)!,
        folders,
        environment,
      });
      return known?.key ?? null;
    };
    const key = await keyOf({});
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(await keyOf({ "agent.js": "// another" })).toBe(key);
    const spaced = (name: string) => ({ [name]: `${files[name]} ` });
    const others = await Promise.all([
      keyOf({}, { workspaceId: other }),
      keyOf(spaced("package.json")),
      keyOf(spaced("package-lock.json")),
      keyOf({ ".npmrc": "omit=dev" }),
    ]);
    expect(new Set([key, null, ...others]).size).toBe(6);
    const lock = {
      "in/package.json": files["package.json"]!,
      "in/package-lock.json": files["package-lock.json"]!,
    };
    const unknown = await Promise.all([
      keyOf({ "node_modules/pack/index.js": "// put there" }),
      keyOf({ "binding.gyp": "{}" }),
      keyOf({ "npm-shrinkwrap.json": files["package-lock.json"]! }),
      keyOf({ ".npmrc": "globalconfig=./more" }),
      keyOf(lock, { name: "in" }),
    ]);
    expect(new Set(unknown)).toEqual(new Set([null]));
  });

  it("are not used when they are not whole, and no build fails for them", { timeout: 240_000 }, async () => {
    const own = join(folder.path, "broken");
    const builder = open({ walls, environment, timeoutMs: 240_000, folder: own });
    const build = async (note: string) => {
      const { request, notes, lines } = ask(await archive({ ...files, "note.txt": note }));
      const { path } = await builder.build(request);
      expect(await readFile(inPack(path), "utf8")).toBe(pristine);
      return { isReused: notes.includes(reused), lines };
    };
    const kept = join(own, "installed");
    await mkdir(own);
    await writeFile(kept, "in the way");
    const { lines } = await build("nowhere to keep them");
    expect(lines).toContain("The installed packages could not be kept for later builds (EEXIST).");
    await rm(kept);
    expect(await build("kept")).toMatchObject({ isReused: false });
    const [key = ""] = await readdir(kept);
    await rm(join(kept, key, "node_modules"), { recursive: true });
    expect(await build("damaged")).toMatchObject({ isReused: false });
    expect(await build("whole again")).toMatchObject({ isReused: true });

    const old = new Date(Date.now() - 8 * 86_400_000);
    await utimes(join(kept, key), old, old);
    await mkdir(join(kept, ".new-just-begun"));
    await builder.clearLeft();
    expect(await readdir(kept)).toEqual([".new-just-begun"]);
  });
});
