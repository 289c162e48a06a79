import { type Command, Option } from "commander";
import type { AgentOptions } from "../../agent/options.ts";

export function register(program: Command): void {
  program
    .command("dev")
    .argument("[folder]", "the project; default: this folder")
    .description("serve a project while you work on it, and reload it when you save a file")
    .option("-c, --config <file>", "the project file, relative to the folder (default langgraph.json)")
    .option("-p, --port <number>", "port to listen on, 0 = any free one (TREADLE_PORT, PORT; default 2024)")
    .option("--host <address>", "address to listen on (TREADLE_HOST; default 127.0.0.1)")
    .option("--database-url <url>", "its own PostgreSQL 15+ database (DATABASE_URL, POSTGRES_URI)")
    .option("--verbose", "log every request and step, including reads (TREADLE_LOG_LEVEL=debug)")
    .option("--no-reload", "do not reload the project when its files change")
    .option("--no-open", "print the link to the studio without opening a browser")
    .addOption(new Option("--generation").hideHelp())
    .addHelpText(
      "after",
      `
Like \`treadle agent --reload\`. Threads, runs and the store are kept in .treadle-agent next to the project file.
A change of a source file (Python, TypeScript or JavaScript), of langgraph.json or of its env file loads a new
version of the project. Once it has loaded, it gets the new runs; runs in progress finish in the old version.
If it does not load, the error is shown with file and line, and the old version keeps serving.

Examples:
  treadle new my-agent && cd my-agent && npm install && treadle dev
  treadle dev ../bot --port 3000`,
    )
    .action(async (folder: string | undefined, _options: object, command: Command) => {
      const { runDev } = await import("./dev.ts");
      process.exit(await runDev(folder, command.optsWithGlobals<AgentOptions>()));
    });
}
