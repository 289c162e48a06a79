import { type Command, Option } from "commander";
import type { AgentOptions } from "../../agent/options.ts";

export function register(program: Command): void {
  program
    .command("dev")
    .argument("[folder]", "the project; default: this folder")
    .description("serve a project while you work on it: a change is served as soon as it is saved")
    .option("-c, --config <file>", "the project file, from the folder (default langgraph.json)")
    .option("-p, --port <number>", "port to listen on, 0 = any free one (TREADLE_PORT, PORT; default 2024)")
    .option("--host <address>", "address to listen on (TREADLE_HOST; default 127.0.0.1)")
    .option("--database-url <url>", "a PostgreSQL 15+ database of its own (DATABASE_URL, POSTGRES_URI)")
    .option("--verbose", "log every request and step, also what was only read (TREADLE_LOG_LEVEL=debug)")
    .option("--no-reload", "serve the project as it is now, whatever changes")
    .option("--no-open", "print the link to the studio, and open no browser")
    .addOption(new Option("--generation").hideHelp())
    .addHelpText(
      "after",
      `
As \`treadle agent --reload\`: threads, runs and the store are kept in .treadle-agent beside the project file.
A change of a source file (Python, TypeScript or JavaScript), of langgraph.json or of its env file loads the
project anew, beside the version that serves. Once it has loaded, new runs go to it; runs under way finish
where they are. What does not load is reported with its file and line, and the version before is served on.

Examples:
  treadle new my-agent && cd my-agent && npm install && treadle dev
  treadle dev ../bot --port 3000`,
    )
    .action(async (folder: string | undefined, _options: object, command: Command) => {
      const { runDev } = await import("./dev.ts");
      process.exit(await runDev(folder, command.optsWithGlobals<AgentOptions>()));
    });
}
