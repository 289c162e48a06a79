import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterEach, describe, expect, it, vi } from "vitest";
import { prepareDataDir } from "../../../../tests/support/prepared-data.ts";
import { createLogger } from "../../logger.ts";
import { openDatabase } from "../connection/open-database.ts";
import { waitForDatabase } from "../connection/wait-for-database.ts";
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from "./embedded-postgres.ts";
import { findPostgresBinaries } from "./postgres-binaries.ts";

// Real servers on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const logger = createLogger({ level: "silent" });
const root = process.getuid?.() === 0;
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function temporaryFolder(name = "data"): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "treadle-pg-"));
  cleanups.push(() => rm(parent, { recursive: true, force: true }));
  await chmod(parent, 0o711);
  return join(parent, name);
}

/** One with a cluster in it that was made before. */
const folderWithCluster = async (name?: string) => prepareDataDir(await temporaryFolder(name));

async function start(
  dataDir: string,
  more: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, logger, settings: { fsync: "off" }, ...more });
  cleanups.push(() => server.stop());
  return server;
}

async function ask<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // In a container, an orphan that has ended may not be reaped; it then stays listed as a zombie.
    return process.platform !== "linux" || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function waitUntilDead(pid: number): Promise<void> {
  while (isAlive(pid)) await delay(10);
}

/** A separate process that supervises the server, as a Treadle would. */
async function startParent(
  dataDir: string,
): Promise<{ child: ChildProcessWithoutNullStreams; url: string; pid: number }> {
  const script = fileURLToPath(
    new URL("../../../../tests/support/embedded-postgres-parent.ts", import.meta.url),
  );
  const child = spawn(process.execPath, [script, dataDir]);
  cleanups.push(async () => child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, ...(JSON.parse(line.toString()) as { url: string; pid: number }) };
}

describe("starting", () => {
  it("makes the cluster once, and finds its data again after a stop", async () => {
    const dataDir = await temporaryFolder();
    const first = await start(dataDir);
    await ask(first.url, "create table kept as select 42 as value");
    await first.stop();
    expect(isAlive(first.pid())).toBe(false);
    const second = await start(dataDir);
    expect(await ask(second.url, "select value from kept")).toEqual([{ value: 42 }]);
  });

  it("listens on loopback only and asks for the password, which only its owner can read", async () => {
    const server = await start(await folderWithCluster());
    const [settings] = await ask<{ listen: string; sockets: string; root: boolean }>(
      server.url,
      "select current_setting('listen_addresses') as listen, current_setting('unix_socket_directories') as sockets",
    );
    expect(settings).toEqual({ listen: "127.0.0.1", sockets: "" });
    const wrong = new URL(server.url);
    wrong.password = "guess";
    await expect(ask(wrong.href, "select 1")).rejects.toMatchObject({ code: "28P01" });
    expect((await stat(join(server.dataFolder, "..", "password"))).mode & 0o777).toBe(0o600);
  });

  it("works in a folder with spaces and quotes in its name", async () => {
    const server = await start(await temporaryFolder(`it's my "data" folder`));
    expect(await ask(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("begins anew when a start was killed while it made the cluster", async () => {
    const dataDir = await temporaryFolder();
    await mkdir(join(dataDir, "postgres", "data.initializing-0a0b0c0d", "base"), { recursive: true });
    await chmod(dataDir, 0o711);
    await writeFile(join(dataDir, "postgres", "data.initializing-0a0b0c0d", "PG_VERSION"), "18\n");
    const server = await start(dataDir);
    expect(await ask(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("ignores a pid file that names a living process which is not its server", async () => {
    const dataDir = await folderWithCluster();
    const first = await start(dataDir);
    await first.stop();
    const lines = [process.pid, first.dataFolder, 1, 5432, "", "127.0.0.1", "1 1", "ready"];
    await writeFile(join(first.dataFolder, "postmaster.pid"), `${lines.join("\n")}\n`);
    const second = await start(dataDir);
    expect(second.pid()).not.toBe(process.pid);
    expect(await ask(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("says what is wrong when the data folder is a file", async () => {
    const dataDir = await temporaryFolder();
    await writeFile(dataDir, "not a folder");
    await expect(start(dataDir)).rejects.toMatchObject({
      code: "data_folder.unusable",
      message: expect.stringContaining(dataDir),
    });
  });

  it("says what is wrong when the cluster was made by another PostgreSQL", async () => {
    const dataDir = await folderWithCluster();
    const first = await start(dataDir);
    await first.stop();
    await writeFile(join(first.dataFolder, "PG_VERSION"), "12\n");
    await expect(start(dataDir)).rejects.toMatchObject({
      code: "database.start_failed",
      message: expect.stringContaining("another major version"),
    });
  });
});

describe("staying up", () => {
  it("starts PostgreSQL again on the same port when it is killed; pools and listeners heal", async () => {
    const exits: unknown[] = [];
    const server = await start(await folderWithCluster(), { onExit: (exit) => exits.push(exit) });
    const database = openDatabase({ url: server.url, poolSize: 3, logger });
    cleanups.push(() => database.close());
    await database.ping();
    const gap = Promise.withResolvers<void>();
    const message = Promise.withResolvers<string>();
    await database.listen("news", message.resolve, gap.resolve);
    process.kill(server.pid(), "SIGKILL");
    await gap.promise;
    expect(exits).toEqual([{ code: null, signal: "SIGKILL" }]);
    await waitForDatabase(() => database.ping(), { timeoutMs: 20_000, logger });
    await database.notify("news", "back");
    expect(await message.promise).toBe("back");
  });

  it("takes over from a killed parent: the orphan is stopped, its data is there", async () => {
    const dataDir = await folderWithCluster();
    const parent = await startParent(dataDir);
    await ask(parent.url, "create table kept as select 'safe' as value");
    parent.child.kill("SIGKILL");
    await once(parent.child, "exit");
    expect(isAlive(parent.pid)).toBe(true);
    const server = await start(dataDir);
    expect(isAlive(parent.pid)).toBe(false);
    expect(await ask(server.url, "select value from kept")).toEqual([{ value: "safe" }]);
  });

  it("keeps its port over a stop and over a killed parent, so that others find it again", async () => {
    const dataDir = await folderWithCluster();
    const first = await start(dataDir);
    await first.stop();
    const parent = await startParent(dataDir);
    expect(parent.url).toBe(first.url);
    parent.child.kill("SIGKILL");
    await once(parent.child, "exit");
    expect((await start(dataDir)).url).toBe(first.url);
  });

  it("takes another port, and keeps that one, when somebody else has taken its own", async () => {
    const dataDir = await folderWithCluster();
    const first = await start(dataDir);
    await first.stop();
    const stranger = createServer().listen(Number(new URL(first.url).port), "127.0.0.1");
    await once(stranger, "listening");
    cleanups.push(async () => stranger.close());
    const second = await start(dataDir);
    expect(second.url).not.toBe(first.url);
    expect(await ask(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
    await second.stop();
    expect((await start(dataDir)).url).toBe(second.url);
  });

  it("does not outlive a parent that exits without stopping it", async () => {
    const parent = await startParent(await folderWithCluster());
    parent.child.stdin.write("exit\n");
    await once(parent.child, "exit");
    await waitUntilDead(parent.pid);
  });
});

if (root) {
  describe("as root", () => {
    it("never runs PostgreSQL as root", async () => {
      const server = await start(await folderWithCluster());
      const status = await readFile(`/proc/${server.pid()}/status`, "utf8");
      expect(status).toMatch(/^Uid:\s+[1-9]/m);
      expect(status).toMatch(/^Groups:\s*$/m);
    });

    it("keeps data and binaries in the system's folder when the home is closed, and leaves its mode alone", async () => {
      const home = await temporaryFolder("home");
      await mkdir(join(home, "project"), { recursive: true });
      await chmod(home, 0o700);
      const installed = await findPostgresBinaries();
      const hidden = { ...installed, native: join(home, "project", "pkg", "native") };
      await cp(installed.native, hidden.native, { recursive: true, verbatimSymlinks: true });
      const systemRoot = await temporaryFolder("system");
      const options = { systemRoot, binaries: hidden };
      const first = await start(join(home, "project", ".treadle"), options);
      expect(first.dataFolder.startsWith(systemRoot)).toBe(true);
      expect(first.notes).toHaveLength(2);
      expect(first.notes.join(" ")).toContain(systemRoot);
      expect((await stat(home)).mode & 0o777).toBe(0o700);
      await ask(first.url, "create table kept as select 1 as value");
      await first.stop();
      // The project moves to a folder anybody may enter: its database is still found.
      const moved = await temporaryFolder("moved");
      await rename(join(home, "project"), moved);
      const second = await start(join(moved, ".treadle"), { systemRoot });
      expect(second.dataFolder).toBe(first.dataFolder);
      expect(await ask(second.url, "select value from kept")).toEqual([{ value: 1 }]);
      await second.stop();
      // A copy must not run on the same database.
      const copy = await temporaryFolder("copy");
      await cp(moved, copy, { recursive: true });
      await expect(start(join(copy, ".treadle"), { systemRoot })).rejects.toMatchObject({
        code: "data_folder.unusable",
        message: expect.stringContaining("is a copy of"),
      });
    });

    it("does not begin with an empty database when the folder of an existing one was closed", async () => {
      const home = await temporaryFolder("home");
      const dataDir = join(home, ".treadle");
      await mkdir(home);
      await prepareDataDir(dataDir);
      const first = await start(dataDir);
      await first.stop();
      await chmod(home, 0o700);
      await expect(start(dataDir, { systemRoot: await temporaryFolder("system") })).rejects.toMatchObject({
        code: "data_folder.unusable",
        message: expect.stringContaining("can no longer access"),
      });
    });

    it("leaves a folder with the user it belongs to", async () => {
      const dataDir = await temporaryFolder();
      await mkdir(join(dataDir, "postgres"), { recursive: true });
      await chmod(dataDir, 0o711);
      const nobody = 65_534;
      await chown(join(dataDir, "postgres"), nobody, nobody);
      const server = await start(dataDir);
      expect((await stat(server.dataFolder)).uid).toBe(nobody);
    });
  });
} else {
  describe("as an ordinary user", () => {
    it("runs as that user, also in a home closed to others", async () => {
      const dataDir = await temporaryFolder();
      await mkdir(dataDir, { mode: 0o700 });
      const server = await start(dataDir);
      expect((await stat(server.dataFolder)).uid).toBe(process.getuid?.());
      expect(server.notes).toEqual([]);
    });
  });
}
