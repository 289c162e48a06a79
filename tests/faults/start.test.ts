import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase } from "../support/database.ts";
import { runOn } from "../support/postgres.ts";
import { prepareDataDir } from "../support/prepared-data.ts";
import { createDataParent, runTreadle, startTreadle, treadleBin } from "../support/treadle.ts";

// Real servers on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const asRoot = process.getuid?.() === 0;
const nobody = { uid: 65534, gid: 65534 };

let parent: TempFolder;
beforeAll(async () => {
  parent = await createDataParent("start faults");
});
afterAll(() => parent.remove());

/** One sentence for a person: no stack, and the thing it is about is named. */
function expectPlainMessage(stderr: string, ...mentions: string[]) {
  expect(stderr).not.toMatch(/^\s+at /m);
  for (const text of mentions) expect(stderr).toContain(text);
}

describe("settings", () => {
  test("a bad value exits with 3 and names the variable, the rule and the value", async () => {
    const { code, stderr } = await runTreadle(["up"], { env: { TREADLE_EDITION: "deluxe" } });
    expect(code).toBe(3);
    expectPlainMessage(stderr, "TREADLE_EDITION", "self-hosted", "deluxe");
  });

  test("a bad option is told like the setting it stands for", async () => {
    const { code, stderr } = await runTreadle(["up", "--port", "70000"]);
    expect(code).toBe(3);
    expectPlainMessage(stderr, "TREADLE_PORT", "70000");
  });

  test("a price file with a wrong entry exits with 3 and names the entry", async () => {
    const { url, drop } = await createTestDatabase();
    const file = join(parent.path, "prices.json");
    await writeFile(file, JSON.stringify([{ match: "mine", input: 1, output: "much" }]));
    try {
      const { code, stderr } = await runTreadle(
        ["up", "--port", "0", "--data-dir", join(parent.path, "prices")],
        { env: { DATABASE_URL: url, TREADLE_MODEL_PRICES_FILE: file } },
      );
      expect(code).toBe(3);
      expectPlainMessage(stderr, "TREADLE_MODEL_PRICES_FILE", 'entry 1 ("mine")', "output: must be a number");
    } finally {
      await drop();
    }
  });

  test("an address of another machine exits with 3", async () => {
    const { code, stderr } = await runTreadle([
      "up",
      "--host",
      "192.0.2.1",
      "--data-dir",
      join(parent.path, "host"),
    ]);
    expect(code).toBe(3);
    expectPlainMessage(stderr, "192.0.2.1", "TREADLE_HOST");
  });
});

describe("port", () => {
  test("a taken one exits with 4 and starts nothing", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    try {
      const dataDir = await prepareDataDir(join(parent.path, "port"));
      const { code, stderr } = await runTreadle(["up", "--port", String(port), "--data-dir", dataDir]);
      expect(code).toBe(4);
      expectPlainMessage(stderr, `Port ${port}`, "--port");
      const again = await startTreadle(["--data-dir", dataDir]);
      expect((await again.stop()).code).toBe(0);
    } finally {
      other.close();
    }
  });
});

describe("data folder", () => {
  test("below a file exits with 6", async () => {
    const file = join(parent.path, "a file");
    await writeFile(file, "");
    const dataDir = join(file, "data");
    const { code, stderr } = await runTreadle(["up", "--port", "0", "--data-dir", dataDir]);
    expect(code).toBe(6);
    expectPlainMessage(stderr, dataDir, "is a file", "--data-dir");
  });

  test("that this user may not write exits with 6 and names both users", async () => {
    const folder = await createTempFolder("not-writable");
    await runCommand("chmod", ["0555", folder.path]);
    try {
      const { code, stderr } = await runTreadle(["up", "--port", "0", "--data-dir", folder.path], {
        cwd: "/",
        ...(asRoot ? { user: nobody } : {}),
      });
      expect(code).toBe(6);
      expectPlainMessage(stderr, folder.path, "is not writable");
      if (asRoot) expectPlainMessage(stderr, "belongs to user 0", "runs as nobody (user 65534)");
    } finally {
      await runCommand("chmod", ["0755", folder.path]);
      await folder.remove();
    }
  });

  test("with spaces and other unusual characters works", async () => {
    const treadle = await startTreadle(["--data-dir", join(parent.path, "data of Zoë & 'Bob' $HOME")]);
    try {
      expect((await fetch(`${treadle.ready.url}/ok`)).status).toBe(200);
    } finally {
      expect((await treadle.stop()).code).toBe(0);
    }
  });

  test("a full disk exits with 6 and says that it is full", async ({ skip }) => {
    skip(!asRoot, "mounting a small file system needs root");
    const mount = join(parent.path, "full disk");
    await mkdir(mount);
    await runCommand("mount", ["-t", "tmpfs", "-o", "size=64k", "treadle-test", mount]);
    try {
      await writeFile(join(mount, "ballast"), Buffer.alloc(64 * 1024)).catch(() => undefined);
      const { code, stderr } = await runTreadle(["up", "--port", "0", "--data-dir", mount]);
      expect(code).toBe(6);
      expectPlainMessage(stderr, mount, "full");
    } finally {
      await runCommand("umount", [mount]);
    }
  });

  test("a disk too small for the database fails with a message, not with a half-made folder", async ({
    skip,
  }) => {
    skip(!asRoot, "mounting a small file system needs root");
    const mount = join(parent.path, "small disk");
    await mkdir(mount);
    await runCommand("mount", ["-t", "tmpfs", "-o", "size=8m", "treadle-test", mount]);
    try {
      const small = await runTreadle(["up", "--port", "0", "--data-dir", mount]);
      expect([6, 7]).toContain(small.code);
      expectPlainMessage(small.stderr, mount);
      await runCommand("mount", ["-o", "remount,size=512m", mount]);
      const treadle = await startTreadle(["--data-dir", mount]);
      expect((await treadle.stop()).code).toBe(0);
    } finally {
      await runCommand("umount", [mount]);
    }
  });

  test("in a folder other users cannot enter works and keeps its mode", async () => {
    const home = await createTempFolder("private-home");
    let systemFolder: string | undefined;
    try {
      const treadle = await startTreadle(["--data-dir", join(home.path, "data")]);
      try {
        // As root the database is elsewhere, and the banner shows where.
        systemFolder = treadle.ready.notes.join("\n").match(/The database is in ([^ ,]+),/)?.[1];
        expect(systemFolder !== undefined).toBe(asRoot);
        expect((await fetch(`${treadle.ready.url}/ok`)).status).toBe(200);
        expect((await stat(home.path)).mode & 0o777).toBe(0o700);
      } finally {
        expect((await treadle.stop()).code).toBe(0);
      }
    } finally {
      await home.remove();
      if (systemFolder !== undefined) await rm(systemFolder, { recursive: true });
    }
  });
});

describe("after kill -9", () => {
  test("the next start on the same folder works and has the same data", async () => {
    const dataDir = await prepareDataDir(join(parent.path, "killed"));
    const killed = await startTreadle(["--data-dir", dataDir]);
    killed.signal("SIGKILL");
    expect((await killed.exited).signal).toBe("SIGKILL");
    const again = await startTreadle(["--data-dir", dataDir]);
    try {
      expect(again.ready.workspace_id).toBe(killed.ready.workspace_id);
      const headers = { "x-api-key": String(killed.ready.api_key) };
      expect((await fetch(`${again.ready.url}/v2/workspaces`, { headers })).status).toBe(200);
    } finally {
      expect((await again.stop()).code).toBe(0);
    }
  });

  test("keys can be listed on the folder that a killed server left", async () => {
    const dataDir = await prepareDataDir(join(parent.path, "killed then keys"));
    const killed = await startTreadle(["--data-dir", dataDir]);
    killed.signal("SIGKILL");
    await killed.exited;
    const { code, stdout, stderr } = await runTreadle(["keys", "list", "--json", "--data-dir", dataDir]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toHaveLength(1);
  });
});

describe("database", () => {
  test("that does not answer exits with 7, without its password", async () => {
    const { code, stderr } = await runTreadle(
      ["up", "--port", "0", "--data-dir", join(parent.path, "no database")],
      {
        env: { DATABASE_URL: "postgres://someone:a-secret-word@127.0.0.1:1/none" },
      },
    );
    expect(code).toBe(7);
    expectPlainMessage(stderr, "127.0.0.1:1", "DATABASE_URL");
    expect(stderr).not.toContain("a-secret-word");
  });

  test("of a newer Treadle that says that this one can run on it is served", async () => {
    const { url, drop } = await createTestDatabase();
    try {
      const newest = "(select max(version) from schema_migrations)";
      await runOn(
        url,
        `insert into schema_migrations (version, name, checksum, oldest_code)
          values (9999, '9999_future.sql', 'unknown', ${newest})`,
      );
      const env = { DATABASE_URL: url };
      const dataDir = join(parent.path, "older");
      for (const _start of ["first", "second"]) {
        const treadle = await startTreadle(["--data-dir", dataDir], { env });
        expect((await fetch(`${treadle.ready.url}/ok`)).status).toBe(200);
        expect((await treadle.stop()).code).toBe(0);
      }
    } finally {
      await drop();
    }
  });

  test("of a newer Treadle exits with 8 and is left alone", async () => {
    const { url, database, drop } = await createTestDatabase();
    try {
      await runOn(
        url,
        "insert into schema_migrations (version, name, checksum) values (9999, '9999_future.sql', 'unknown')",
      );
      const { code, stderr } = await runTreadle(
        ["up", "--port", "0", "--data-dir", join(parent.path, "newer")],
        {
          env: { DATABASE_URL: url },
        },
      );
      expect(code).toBe(8);
      expectPlainMessage(stderr, "9999", "newer");
      const statement = {
        name: "organizations_v1",
        text: "select count(*)::int as count from organizations",
      };
      expect(await database.query(statement, [])).toEqual([{ count: 0 }]);
    } finally {
      await drop();
    }
  });

  test("sealed with another encryption key exits with 9, and starts again with the right one", async () => {
    const { url, drop } = await createTestDatabase();
    try {
      const dataDir = join(parent.path, "sealed");
      const env = { DATABASE_URL: url, TREADLE_SECRET_KEY: "the-first-encryption-key" };
      const first = await startTreadle(["--data-dir", dataDir], { env });
      expect((await first.stop()).code).toBe(0);
      const wrong = await runTreadle(["up", "--port", "0", "--data-dir", dataDir], {
        env: { ...env, TREADLE_SECRET_KEY: "quite-another-encryption-key" },
      });
      expect(wrong.code).toBe(9);
      expectPlainMessage(wrong.stderr, "encryption key", "TREADLE_SECRET_KEY");
      const again = await startTreadle(["--data-dir", dataDir], { env });
      expect((await again.stop()).code).toBe(0);
    } finally {
      await drop();
    }
  });
});

describe("signals", () => {
  test("SIGINT during the start still ends in order with 0 and frees the folder", async () => {
    const dataDir = join(parent.path, "early signal");
    const { PATH = "", HOME = "/" } = process.env;
    const child = spawn(process.execPath, [treadleBin, "up", "--port", "0", "--data-dir", dataDir], {
      env: { PATH, HOME },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    const code = await new Promise<number | null>((resolve) => {
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        if (!stderr.includes("Preparing") && (stderr + text).includes("Preparing")) child.kill("SIGINT");
        stderr += text;
      });
      child.once("exit", resolve);
    });
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Stopping after SIGINT"),
    });
    const again = await startTreadle(["--data-dir", dataDir]);
    expect((await again.stop()).code).toBe(0);
  });

  /** A request whose body never ends, once the server has taken it up. */
  async function hangingRequest(url: string): Promise<Socket> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    const head = `POST /threads HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n`;
    socket.write(`${head}Content-Length: 100\r\n\r\n`);
    const [answer] = await once(socket, "data");
    expect(String(answer)).toContain("100 Continue");
    return socket;
  }

  test("a stop names the requests it had to cut off", async () => {
    const dataDir = await prepareDataDir(join(parent.path, "cut off"));
    const treadle = await startTreadle(["--data-dir", dataDir], {
      env: { TREADLE_SHUTDOWN_GRACE_SECONDS: "0.2" },
    });
    const socket = await hangingRequest(treadle.ready.url);
    const { code, stdout } = await treadle.stop();
    socket.destroy();
    expect(code).toBe(0);
    const stopped = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { interrupted: string[] };
    expect(stopped).toEqual({ stopped: true, interrupted: [expect.stringContaining("POST")] });
  });

  test("a second signal ends it at once, and the folder can be used again", async () => {
    const dataDir = await prepareDataDir(join(parent.path, "impatient"));
    const treadle = await startTreadle(["--data-dir", dataDir], {
      env: { TREADLE_SHUTDOWN_GRACE_SECONDS: "600" },
    });
    const socket = await hangingRequest(treadle.ready.url);
    const repeat = setInterval(() => treadle.signal("SIGTERM"), 100);
    const { code, stderr } = await treadle.exited;
    clearInterval(repeat);
    socket.destroy();
    expect({ code, stderr }).toMatchObject({ code: 143, stderr: expect.stringContaining("second SIGTERM") });
    const again = await startTreadle(["--data-dir", dataDir]);
    expect((await again.stop()).code).toBe(0);
  });
});
