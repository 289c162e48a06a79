import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { clickHouseLibrary } from "./clickhouse-library.ts";
import { freePort } from "./free-port.ts";
import { ensureDebianPackages } from "./install-packages.ts";
import { type ChildProcess, spawnProcess } from "./process.ts";
import { createTempFolder } from "./temp-folder.ts";
import { waitUntil } from "./wait-until.ts";

const program = fileURLToPath(new URL("clickhouse-serve.py", import.meta.url));
/** Listens, then keeps the process: a query that ends after thirty years. */
const servingQueries = `SYSTEM START LISTEN HTTP; SELECT sleepEachRow(1) FROM numbers(1000000000)
  SETTINGS function_sleep_max_microseconds_per_block = 0, max_block_size = 1 FORMAT Null`;

export interface ClickHouse {
  /** `http://127.0.0.1:port`, or `TREADLE_TEST_CLICKHOUSE_URL`. */
  origin: string;
  /** Makes an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** The last lines of the server's log. */
  log(): string;
  /** Ends it as a crash would; `restart` brings it back. */
  kill(): Promise<void>;
  /** Stops it if it runs, then starts it on the same port with the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * ClickHouse with its own HTTP server, in a process and a folder of its own. It has one user, `default` without a password, as a new server
 * does, and listens on loopback alone. Where `TREADLE_TEST_CLICKHOUSE_URL` names a server that one is used, and cannot be killed.
 */
export async function startClickHouse(): Promise<ClickHouse> {
  const given = process.env.TREADLE_TEST_CLICKHOUSE_URL;
  return given ? givenServer(given) : await ownServer();
}

async function ownServer(): Promise<ClickHouse> {
  await ensureDebianPackages(["python3"]);
  const library = await clickHouseLibrary();
  const folder = await createTempFolder("clickhouse");
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;

  const start = async () => {
    const settings = [`--path=${folder.path}`, `--http_port=${port}`, "--listen_host=127.0.0.1"];
    const args = [program, library, ...settings, `--query=${servingQueries}`];
    // The package's own, whatever other Python comes first in PATH.
    const child = spawnProcess("/usr/bin/python3", args, { name: "clickhouse", cwd: folder.path });
    server = child;
    await waitUntil(
      async () => {
        if (child.exit()) throw new Error(`ClickHouse ended while starting:\n${child.output()}`);
        const answer = await fetch(`${origin}/ping`).catch(() => undefined);
        await answer?.body?.cancel();
        return answer?.status === 200;
      },
      { what: `ClickHouse at ${origin}`, timeoutMs: 120_000, evidence: child.output },
    );
  };
  const halt = async () => void (await server?.stop("SIGTERM", 10_000));
  const stop = async () => {
    await halt();
    await folder.remove();
  };
  await start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    origin,
    createDatabase: () => createClickHouseDatabase(origin),
    log: () => server?.output() ?? "",
    kill: async () => void (await server?.kill()),
    restart: async () => {
      await halt();
      await start();
    },
    stop,
  };
}

function givenServer(url: string): ClickHouse {
  const databases: string[] = [];
  const cannot = () => {
    throw new Error("The server of TREADLE_TEST_CLICKHOUSE_URL is not ours to end. Unset it for this test.");
  };
  return {
    origin: url,
    async createDatabase() {
      const database = await createClickHouseDatabase(url);
      databases.push(database);
      return database;
    },
    log: () => "",
    kill: cannot,
    restart: cannot,
    async stop() {
      for (const each of databases) await runOn(url, `drop database ${new URL(each).pathname.slice(1)}`);
    },
  };
}

/** Makes an empty database on a server and returns its URL. */
export async function createClickHouseDatabase(origin: string): Promise<string> {
  const name = `treadle_${randomBytes(8).toString("hex")}`;
  await runOn(origin, `create database ${name}`);
  return new URL(name, origin).href;
}

async function runOn(origin: string, statement: string): Promise<void> {
  const { username, password } = new URL(origin);
  const answer = await fetch(new URL("/", origin).href.replace(/\/\/[^/]*@/, "//"), {
    method: "POST",
    headers: {
      "x-clickhouse-user": decodeURIComponent(username) || "default",
      "x-clickhouse-key": decodeURIComponent(password),
    },
    body: statement,
  });
  if (!answer.ok) throw new Error(`ClickHouse refused "${statement}": ${await answer.text()}`);
  await answer.body?.cancel();
}
