import type { Command } from "commander";
import type { UpOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("up")
    .description("start Treadle: agent server, traces, exports, auth service and chat")
    .option("-p, --port <number>", "port to listen on, 0 = any free one (TREADLE_PORT; default 8124)")
    .option("--host <address>", "address to listen on (TREADLE_HOST; default 127.0.0.1)")
    .option("--verbose", "log every request and step, also what was only read (TREADLE_LOG_LEVEL=debug)")
    .addHelpText(
      "after",
      `
The first start makes the data folder, a workspace and an API key, prints them and keeps them in
credentials.json there. Without DATABASE_URL it runs its own PostgreSQL from the data folder.
Listening on anything but loopback makes every area ask for an API key.

Ctrl-C or SIGTERM stops it in order: no new requests, what is in progress may finish for
TREADLE_SHUTDOWN_GRACE_SECONDS. A second one ends it at once.

Examples:
  treadle up
  treadle up --port 0 --json          any free port; one JSON line when ready
  treadle up --host 0.0.0.0           reachable from elsewhere, API key required`,
    )
    .action(async (_options: object, command: Command) => {
      const { runUp } = await import("./up.ts");
      // Everything is closed by now; whatever a library left on a timer must not delay the end.
      process.exit(await runUp(command.optsWithGlobals<UpOptions>()));
    });
}
