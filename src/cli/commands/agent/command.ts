import type { Command } from "commander";
import type { AgentOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("agent")
    .description("serve the graphs of one project, alone")
    .option("-c, --config <file>", "the project file (TREADLE_PROJECT_FILE; default langgraph.json)")
    .option("-p, --port <number>", "port to listen on, 0 = any free one (TREADLE_PORT, PORT; default 2024)")
    .option("--host <address>", "address to listen on (TREADLE_HOST; default 127.0.0.1)")
    .option("--database-url <url>", "a PostgreSQL 15+ database of its own (DATABASE_URL, POSTGRES_URI)")
    .addHelpText(
      "after",
      `
Reads the project file, loads its graphs (Python, TypeScript or JavaScript) and serves assistants,
threads, runs, streams, store and crons for them. Without a database it runs its own PostgreSQL in
.treadle-agent beside the project file (--data-dir or TREADLE_DATA_DIR). A graph that does not load is
named with its reason, and the others are served.

Open on loopback. With TREADLE_API_KEY or LANGGRAPH_AUTH_TYPE callers send X-Api-Key; a project with an
"auth" of its own decides for itself.

Ctrl-C or SIGTERM stops it in order: runs may finish for BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS, and what is
left goes on from its last checkpoint at the next start.

Examples:
  treadle agent                                      the langgraph.json of this folder
  treadle agent -c ../bot/langgraph.json --port 0 --json
  DATABASE_URL=postgres://... treadle agent --host 0.0.0.0`,
    )
    .action(async (_options: object, command: Command) => {
      const { runAgent } = await import("./agent.ts");
      process.exit(await runAgent(command.optsWithGlobals<AgentOptions>()));
    });
}
