import { type Command, Option } from "commander";
import type { AgentOptions } from "../../agent/options.ts";

export function register(program: Command): void {
  program
    .command("agent")
    .description("serve the graphs of one project, alone")
    .option("-c, --config <file>", "the project file (TREADLE_PROJECT_FILE; default langgraph.json)")
    .option("-p, --port <number>", "port to listen on, 0 = any free one (TREADLE_PORT, PORT; default 2024)")
    .option("--host <address>", "address to listen on (TREADLE_HOST; default 127.0.0.1)")
    .option("--database-url <url>", "its own PostgreSQL 15+ database (DATABASE_URL, POSTGRES_URI)")
    .option("--verbose", "log every request and step, including reads (TREADLE_LOG_LEVEL=debug)")
    .option("--reload", "reload the project when its files change")
    .option("--no-open", "print the link to the studio without opening a browser")
    .addOption(new Option("--generation").hideHelp())
    .addHelpText(
      "after",
      `
Reads the project file, loads its graphs (Python, TypeScript or JavaScript) and serves assistants,
threads, runs, streams, store and crons for them. Without a database it runs its own PostgreSQL in
.treadle-agent next to the project file (--data-dir or TREADLE_DATA_DIR). If a graph does not load, the
output has its name and the reason, and the others are served.

With --reload, a change of the project's source, langgraph.json or env file loads a new version of it.
It takes over once it has loaded; runs in progress finish in the old one. If it does not load, the old one stays.

The studio is at /studio. The printed link signs a browser in, once. On a terminal it is opened for you.

It is open on loopback. With TREADLE_API_KEY or LANGGRAPH_AUTH_TYPE, callers send X-Api-Key. A project with
its own "auth" decides itself.

Ctrl-C or SIGTERM stops it: runs may finish within BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS, and the others
resume from their last checkpoint at the next start.

Examples:
  treadle agent                                      the langgraph.json of this folder
  treadle agent -c ../bot/langgraph.json --port 0 --json
  DATABASE_URL=postgres://... treadle agent --host 0.0.0.0`,
    )
    .action(async (_options: object, command: Command) => {
      const { runAgent } = await import("../../agent/run-agent.ts");
      process.exit(await runAgent(command.optsWithGlobals<AgentOptions>()));
    });
}
