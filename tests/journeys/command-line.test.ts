import { existsSync } from "node:fs";
import { cp, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isRunning } from "../support/components/process-table.ts";
import { runCommand } from "../support/components/run-command.ts";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { prepareDataDir } from "../support/prepared-data.ts";
import {
  createDataParent,
  type RunningTreadle,
  runTreadle,
  startTreadle,
  treadleBin,
} from "../support/treadle.ts";

// Real servers on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let parent: TempFolder;
beforeAll(async () => {
  parent = await createDataParent("command-line");
});
afterAll(() => parent.remove());

describe("help", () => {
  test("teaches the commands, examples, settings and exit codes", async () => {
    const { code, stdout, stderr } = await runTreadle(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const text of [
      "up",
      "keys",
      "migrate",
      "config",
      "doctor",
      "Examples:",
      "treadle config",
      "Exit codes:",
    ]) {
      expect(stdout).toContain(text);
    }
  });

  test("an unknown command is a usage error that suggests the right one", async () => {
    const { code, stderr } = await runTreadle(["docter"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Did you mean doctor?");
    expect(stderr).toContain("Run `treadle --help` for the list of commands.");
  });

  test("an unknown option names the help of its command", async () => {
    const { code, stderr } = await runTreadle(["runs", "start", "--graph", "x"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Run `treadle runs start --help` for its arguments and options.");
  });

  test.each([[["up", "--prot", "1"]], [["keys", "create"]], [["keys", "create", "x", "--role", "king"]]])(
    "%j is a usage error",
    async (args) => {
      const { code, stderr } = await runTreadle(args);
      expect(code).toBe(2);
      expect(stderr).not.toContain("    at ");
    },
  );

  test("prints no colour codes into a pipe", async () => {
    const { stdout } = await runTreadle(["config"]);
    expect(stdout).not.toContain("\u001b[");
  });
});

describe("launcher", () => {
  const asOldNode = [
    "--import",
    `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.19.0"}})`,
  ];

  test("an old Node is replaced by the bundled one", async () => {
    const { code, stdout } = await runTreadle(["doctor", "--json", "--port", "0"], { nodeArgs: asOldNode });
    const { checks } = JSON.parse(stdout) as { checks: { name: string; message: string }[] };
    const messageOf = (name: string) => checks.find((check) => check.name === name)?.message;
    expect(code).toBe(0);
    expect(messageOf("Node")).toMatch(`${messageOf("Bundled Node")} on`);
  });

  test("the exit code and signals pass through the launcher", async () => {
    const usage = await runTreadle(["nonsense"], { nodeArgs: asOldNode });
    expect(usage.code).toBe(2);
    const dataDir = await prepareDataDir(join(parent.path, "launched"));
    const running = await startTreadle(["--data-dir", dataDir], { nodeArgs: asOldNode });
    expect(running.ready.pid).not.toBe(running.pid);
    expect((await running.stop()).code).toBe(0);
  });

  test("the server stops in order when the launcher is killed", async () => {
    const dataDir = join(parent.path, "orphan");
    await prepareDataDir(dataDir);
    const running = await startTreadle(["--data-dir", dataDir], { nodeArgs: asOldNode });
    running.signal("SIGKILL");
    await running.exited;
    await waitUntil(() => !isRunning(running.ready.pid) && !existsSync(join(dataDir, "lock.json")), {
      what: "the server to stop after its launcher",
      timeoutMs: 20_000,
    });
  });

  test("without the bundled Node it says what to do", async () => {
    // A checkout of its own that has no node_modules beside or above it.
    await cp(dirname(treadleBin), join(parent.path, "alone", "bin"), { recursive: true });
    await writeFile(join(parent.path, "alone", "package.json"), '{ "type": "module" }');
    await expect(
      runCommand(process.execPath, [...asOldNode, join(parent.path, "alone", "bin", "treadle.js"), "up"]),
    ).rejects.toThrow(/exit code 1[\s\S]*this is Node 20\.19\.0[\s\S]*npm rebuild node/);
  });

  test("works when called through a link, as npm installs it", async () => {
    const link = join(parent.path, "treadle-link");
    await symlink(treadleBin, link);
    const { stdout } = await runCommand(process.execPath, [link, "--version"]);
    expect(stdout.trim()).toMatch(/^\d+\.\d+\.\d+/);
  });
});

describe("config", () => {
  const env = {
    TREADLE_API_KEY: "a-very-secret-key-1",
    TREADLE_SECRET_KEY: "a-very-secret-key-2",
    DATABASE_URL: "postgres://someone:a-very-secret-key-3@db.example/treadle",
    TREADLE_PORT: "9123",
  };

  test("lists every setting and masks the secrets", async () => {
    const { code, stdout } = await runTreadle(["config"], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/TREADLE_PORT +9123 +environment/);
    expect(stdout).toContain("postgres://someone:********@db.example/treadle");
    expect(stdout).not.toContain("a-very-secret-key");
  });

  test("--json is one document with the same content", async () => {
    const { stdout } = await runTreadle(["config", "--json"], { env });
    const settings = JSON.parse(stdout) as { name: string; value: string; source: string }[];
    expect(settings).toContainEqual(
      expect.objectContaining({ name: "TREADLE_PORT", value: "9123", source: "environment" }),
    );
    expect(stdout).not.toContain("a-very-secret-key");
  });

  test("a secret in a wrong DATABASE_URL is not shown either", async () => {
    const { code, stdout, stderr } = await runTreadle(["config"], {
      env: { DATABASE_URL: "mysql://someone:a-very-secret-key-3@db.example/treadle" },
    });
    expect(code).toBe(3);
    expect(stderr).toContain("DATABASE_URL");
    expect(stdout + stderr).not.toContain("a-very-secret-key");
  });
});

describe("doctor", () => {
  test("finds this machine able, without making the data folder", async () => {
    const dataDir = join(parent.path, "doctor only");
    const { code, stdout } = await runTreadle(["doctor", "--port", "0", "--data-dir", dataDir]);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Treadle can run here."),
    });
    expect(existsSync(dataDir)).toBe(false);
  });

  test("exits with 1 when something required is missing, and says what", async () => {
    const { code, stdout } = await runTreadle(["doctor", "--json", "--port", "0"], {
      env: { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", PATH: "/nonexistent" },
    });
    const report = JSON.parse(stdout) as { healthy: boolean; checks: { name: string; status: string }[] };
    expect(code).toBe(1);
    expect(report.healthy).toBe(false);
    const failed = report.checks.filter(({ status }) => status === "failed").map(({ name }) => name);
    expect(failed).toEqual(["Database", "git"]);
    expect(report.checks.find(({ name }) => name === "Python")).toMatchObject({
      status: "warning",
      message: expect.stringContaining("projects with Python graphs need it"),
    });
  });

  test("a port another program uses is a failed check", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    try {
      const { code, stdout } = await runTreadle(["doctor", "--port", String(port)]);
      expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining(`Port ${port} on`) });
    } finally {
      other.close();
    }
  });
});

type Key = { id: string; name: string; role: string };

/** One data folder through its life: served, asked about, stopped, changed while stopped, served again. */
describe("a server and its data folder", () => {
  let dataDir: string;
  let first: RunningTreadle;
  let second: RunningTreadle;
  let whileStopped: Key & { key: string };
  const keys = async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await runTreadle(["keys", ...args, "--json", "--data-dir", dataDir]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout) as T;
  };
  const status = async (url: string, key: string) =>
    (await fetch(`${url}/v2/workspaces`, { headers: { "x-api-key": key } })).status;

  beforeAll(async () => {
    dataDir = join(parent.path, "data");
    first = await startTreadle(["--data-dir", dataDir]);
  });
  afterAll(async () => {
    await first?.stop();
    await second?.stop();
  });

  describe("up", () => {
    test("keeps its files closed to other users", async () => {
      for (const file of ["runtime.json", "credentials.json"]) {
        expect((await stat(join(dataDir, file))).mode & 0o777).toBe(0o600);
      }
      expect((await stat(dataDir)).mode & 0o066).toBe(0);
    });

    test("a second one on the same folder exits with 5 and names the first", async () => {
      const another = await runTreadle(["up", "--port", "0", "--data-dir", dataDir]);
      expect(another.code).toBe(5);
      expect(another.stderr).toContain(`process ${first.pid} has locked it`);
      expect(another.stderr).toContain("--data-dir");
      expect((await fetch(`${first.ready.url}/ok`)).status).toBe(200);
    });

    test("doctor knows the port of the running one as its own", async () => {
      const port = String(first.ready.port);
      const { code, stdout } = await runTreadle(["doctor", "--port", port, "--data-dir", dataDir]);
      expect({ code, stdout }).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("is used by the Treadle that runs on this data folder"),
      });
    });
  });

  test("keys are made and revoked while the server runs", async () => {
    const made = await keys<Key & { key: string }>("create", "while running", "--role", "viewer");
    expect(made).toMatchObject({ name: "while running", role: "viewer" });
    expect(await status(first.ready.url, made.key)).toBe(200);
    await keys("revoke", made.id);
    // The server is notified by the database, a moment after the command has ended.
    await waitUntil(async () => (await status(first.ready.url, made.key)) === 401, {
      what: "the revoked key to be refused",
      timeoutMs: 10_000,
    });
  });

  test("open makes a link that signs in once and leads to the page asked for", async () => {
    const asked = ["open", "traces", "--no-browser", "--json", "--data-dir", dataDir];
    const { code, stdout, stderr } = await runTreadle(asked);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const link = new URL((JSON.parse(stdout) as { url: string }).url);
    expect(link.href).toMatch(`${first.ready.url}/sign-in?return_to=%2Ftraces#code=`);
    const enter = () =>
      fetch(`${first.ready.url}/v2/auth/sign-in/code`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          origin: first.ready.url,
          "x-treadle-console": "1",
        },
        body: JSON.stringify({ code: link.hash.replace("#code=", "") }),
      });
    expect((await enter()).status).toBe(201);
    expect((await enter()).status).toBe(401);
    const elsewhere = await runTreadle(["open", "--no-browser", "--json", "--url", "http://127.0.0.1:1"]);
    expect(JSON.parse(elsewhere.stdout)).toEqual({ url: "http://127.0.0.1:1/" });
  });

  test("it serves until SIGTERM, then exits with 0", async () => {
    const response = await fetch(`${first.ready.url}/ok`);
    expect(response.status).toBe(200);
    const exit = await first.stop();
    expect({ code: exit.code, signal: exit.signal }).toEqual({ code: 0, signal: null });
    await expect(fetch(`${first.ready.url}/ok`)).rejects.toThrow();
    expect(existsSync(join(dataDir, "runtime.json"))).toBe(false);
  });

  test("the banner shows the key once, and later where it is", async () => {
    const key = first.ready.api_key;
    expect(key).toEqual(expect.any(String));
    const credentials = await readFile(join(dataDir, "credentials.json"), "utf8");
    expect(credentials).toContain(String(key));
    whileStopped = await keys("create", "while stopped");
    second = await startTreadle(["--data-dir", dataDir]);
    expect(second.ready.api_key).toBeNull();
    expect(second.ready.workspace_id).toBe(first.ready.workspace_id);
    expect(await status(second.ready.url, String(key))).toBe(200);
    expect(await status(second.ready.url, whileStopped.key)).toBe(200);
    expect((await second.stop()).code).toBe(0);
  });

  test("keys are made, listed and revoked without a server too", async () => {
    const listed = await keys<Key[]>("list");
    expect(listed.map(({ name }) => name)).toContain("while stopped");
    expect(JSON.stringify(listed)).not.toContain(whileStopped.key);
    await keys("revoke", whileStopped.id);
    const names = (await keys<Key[]>("list")).map(({ name }) => name);
    expect(names).not.toContain("while stopped");
  });

  test("an unknown id to revoke is a failure that says so", async () => {
    const unknown = "00000000-0000-4000-8000-000000000000";
    const { code, stderr } = await runTreadle(["keys", "revoke", unknown, "--data-dir", dataDir]);
    expect(code).toBe(1);
    expect(stderr).toContain("treadle keys list");
  });

  test("the encryption key is rotated and the next start opens everything", async () => {
    const before = await readFile(join(dataDir, "secret.key"), "utf8");
    await keys("rotate-encryption");
    expect(await readFile(join(dataDir, "secret.key"), "utf8")).not.toBe(before);
    const treadle = await startTreadle(["--data-dir", dataDir]);
    expect((await treadle.stop()).code).toBe(0);
  });
});
