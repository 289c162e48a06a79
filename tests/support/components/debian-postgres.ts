import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { ensureDebianPackages } from "./install-packages.ts";
import { type ChildProcess, spawnProcess } from "./process.ts";
import { runCommand } from "./run-command.ts";
import { createTempFolder } from "./temp-folder.ts";

const BIN = "/usr/lib/postgresql/15/bin";

export interface DebianPostgres {
  url: string;
  port: number;
  /** The last lines of the server's log. */
  log(): string;
  /** Stops it in order if it runs, then starts it on the same port with the same data. */
  restart(): Promise<void>;
  /** Ends it as a crash would; `restart` brings it back. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** The server refuses to run as root, and the package creates a user for it. */
async function serverUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await runCommand("id", [flag, "postgres"])).stdout)),
  );
  return { uid: uid!, gid: gid! };
}

/**
 * Postgres 15 of Debian in a folder of its own. The cluster the package may have started is left alone.
 * `settings` are server settings, such as `{ max_connections: "20" }`.
 */
export async function startDebianPostgres(
  options: { settings?: Record<string, string> } = {},
): Promise<DebianPostgres> {
  await ensureDebianPackages(["postgresql-15"]);
  const user = await serverUser();
  const folder = await createTempFolder("postgres", user);
  const data = join(folder.path, "data");
  const settings = { fsync: "off", listen_addresses: "127.0.0.1", ...options.settings };
  let port = 0;
  let server: ChildProcess | undefined;

  const start = async () => {
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    server = spawnProcess(
      join(BIN, "postgres"),
      ["-D", data, "-k", folder.path, "-p", String(port), ...flags],
      { name: "postgres", cwd: folder.path, user },
    );
    await server.waitForLine("database system is ready to accept connections", 60_000);
  };
  const halt = async () => {
    // SIGINT is the fast shutdown: sessions are ended instead of waited for.
    if (server && !server.exit()) await server.stop("SIGINT", 30_000);
  };
  const stop = async () => {
    await halt();
    await folder.remove();
  };

  try {
    // C.UTF-8 sorts by bytes as C does, and knows the letters beyond ASCII, as the embedded server does.
    const locale = ["-E", "UTF8", "--locale=C.UTF-8"];
    const initArgs = ["-D", data, "-U", "postgres", "-A", "trust", ...locale, "--no-sync"];
    const init = spawnProcess(join(BIN, "initdb"), initArgs, { name: "initdb", cwd: folder.path, user });
    const { code } = await init.waitExit(60_000);
    if (code !== 0) throw new Error(`initdb failed with exit code ${code}:\n${init.output()}`);
    port = await freePort();
    await start();
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    log: () => server?.output() ?? "",
    async restart() {
      await halt();
      await start();
    },
    async kill() {
      await server?.kill();
    },
    stop,
  };
}
