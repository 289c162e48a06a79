import { type Command, Option } from "commander";
import type { AgentOptions } from "../../agent/options.ts";

export function register(program: Command): void {
  program
    .command("agent")
    .description("serve the graphs of one project, alone")
    .option("-c, --config <file>", "the project file (TREADLE_PROJECT_FILE; default langgraph.json)")
    .option("-p, --port <number>", "port to listen on, 0 = any free one (TREADLE_PORT, PORT; default 2024)")
    .option("--host <address>", "address to listen on (TREADLE_HOST; default 127.0.0.1)")
    .option("--database-url <url>", "a PostgreSQL 15+ database of its own (DATABASE_URL, POSTGRES_URI)")
    .option("--verbose", "log every request and step, also what was only read (TREADLE_LOG_LEVEL=debug)")
    .option("--reload", "load the project anew when its files change")
    .option("--no-open", "print the link to the studio, and open no browser")
    .addOption(new Option("--generation").hideHelp())
    .addHelpText(
      "after",
      `
Reads the project file, loads its graphs (Python, TypeScript or JavaScript) and serves assistants,
threads, runs, streams, store and crons for them. Without a database it runs its own PostgreSQL in
.treadle-agent beside the project file (--data-dir or TREADLE_DATA_DIR). A graph that does not load is
named with its reason, and the others are served.

With --reload a change of the project's source, langgraph.json or env file loads it anew beside what serves.
It takes over once it has loaded: runs under way finish where they are. What does not load changes nothing.

The studio is at /studio: the link that is printed signs a browser in, once. On a terminal it is opened.

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
      const { runAgent } = await import("../../agent/run-agent.ts");
      process.exit(await runAgent(command.optsWithGlobals<AgentOptions>()));
    });
}
