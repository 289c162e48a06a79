import type { Command } from "commander";
import type { ListenerOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("listener")
    .description("run deployments of a platform elsewhere, in this network")
    .option("--platform <address>", "the platform whose deployments it runs (TREADLE_PLATFORM_URL)")
    .option("--listener <id>", "which listener it is (TREADLE_LISTENER_ID)")
    .option("--runtime <name>", "process, docker or kubernetes (TREADLE_RUNTIME)")
    .option("-p, --port <number>", "port to serve deployments on, 0 = any free one (TREADLE_PORT)")
    .option("--host <address>", "address to serve deployments on (TREADLE_HOST; default 127.0.0.1)")
    .option("--take-over", "begin anew here, where the deployments were in another database")
    .option("--verbose", "log every request and step, including reads (TREADLE_LOG_LEVEL=debug)")
    .addHelpText(
      "after",
      `
Its key comes from TREADLE_PLATFORM_KEY: the one that \`treadle listeners create NAME\` printed. Each listener
has a key of its own.

It connects to the platform and never the other way: it asks for the deployments that name this
listener, builds and starts them with its own runtime and its own PostgreSQL (DATABASE_URL, or one from
its data folder), serves them at its own address, and reports statuses, logs and metrics. While the
platform is away it goes on with what it has. Its other settings are those of \`treadle up\`, for
example TREADLE_PUBLIC_URL, the address people use for its deployments (docs/listeners.md).

Example:
  export TREADLE_PLATFORM_KEY=trk_...
  treadle listener --platform https://treadle.example.com --listener 01981f5e-... --host 0.0.0.0`,
    )
    .action(async (_options: object, command: Command) => {
      const { runListener } = await import("./listener.ts");
      // Everything is closed by now; a timer that a library left must not delay the end.
      process.exit(await runListener(command.optsWithGlobals<ListenerOptions>()));
    });
}
