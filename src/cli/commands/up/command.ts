import type { Command } from "commander";
import type { UpOptions } from "./options.ts";

const roleLines = [
  "  api         the API, the console and the chat",
  "  ingest      takes traces from SDKs and OpenTelemetry (api does, too)",
  "  gateway     passes requests on to deployments (/d)",
  "  worker      executes runs, fires crons and does background jobs",
  "  export      runs bulk exports and their schedules",
  "  controller  starts, watches and replaces deployed servers; one of several is active",
  "  builder     builds deployments",
];

export function register(program: Command): void {
  program
    .command("up")
    .description("start Treadle: agent server, traces, exports, auth service and chat")
    .option("-p, --port <number>", "port to listen on, 0 = any free one (TREADLE_PORT; default 8124)")
    .option("--host <address>", "address to listen on (TREADLE_HOST; default 127.0.0.1)")
    .option(
      "--roles <names>",
      "what this process does, where several share the work (TREADLE_ROLES; default all)",
    )
    .option("--verbose", "log every request and step, including reads (TREADLE_LOG_LEVEL=debug)")
    .addHelpText(
      "after",
      `
The first start creates the data folder, a workspace and an API key, prints them and stores them in
credentials.json there. Without DATABASE_URL it runs its own PostgreSQL from the data folder.
If it listens on anything but loopback, every request needs an API key.

Ctrl-C or SIGTERM stops it: it accepts no new requests, and those in progress may finish within
TREADLE_SHUTDOWN_GRACE_SECONDS. After SIGTERM it keeps serving for TREADLE_SHUTDOWN_LEAVE_SECONDS
first (default 0), so that clients can move to other servers. A second signal ends it at once.

With four cores or more it starts worker processes beside itself, which execute runs, background jobs and
exports; it ends them with itself. TREADLE_WORKERS sets their number (0: one process does everything).

Roles share the work among several processes on one DATABASE_URL (docs/scale.md):
${roleLines.join("\n")}
They need DATABASE_URL, TREADLE_SECRET_KEY, TREADLE_API_KEY, TREADLE_PUBLIC_URL, TREADLE_INTERNAL_URL
and TREADLE_BLOB_URL, the same for all processes, and a data folder for each. A start without one of
them names what is missing.

Examples:
  treadle up
  treadle up --port 0 --json          any free port; one JSON line when ready
  treadle up --host 0.0.0.0           reachable from elsewhere, API key required
  treadle up --roles api,gateway      serves; other processes execute runs and start deployments`,
    )
    .action(async (_options: object, command: Command) => {
      const { runUp } = await import("./up.ts");
      // Everything is closed by now; a timer that a library left must not delay the end.
      process.exit(await runUp(command.optsWithGlobals<UpOptions>()));
    });
}
