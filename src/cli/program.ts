import { readFileSync } from "node:fs";
import { Command } from "commander";
import { exitCodeTable } from "./exit-codes.ts";
import type { OutputOptions } from "./output.ts";

export type GlobalOptions = OutputOptions & { dataDir?: string };

/** The command itself, before the commands register: what holds for all of them. */
export function createProgram(): Command {
  const program = new Command("treadle")
    .description("The open, self-hosted agent platform: deploy, run, stream, trace and export agents.")
    .version(readVersion(), "-V, --version", "print the version")
    .option("--data-dir <folder>", "folder of the database, keys, builds and logs (TREADLE_DATA_DIR)")
    .option("--json", "print results as JSON")
    .option("--no-color", "print without colours (also: NO_COLOR=1)")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .showHelpAfterError("Run `treadle --help` to see what there is.")
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .addHelpText(
      "after",
      `
Examples:
  treadle up                                start everything on http://127.0.0.1:8124
  treadle up --port 9000 --data-dir ~/data  on another port, with another folder
  treadle doctor                            see whether this machine has what Treadle needs
  treadle keys create ci --role editor      a new API key
  DATABASE_URL=postgres://... treadle up    with your own PostgreSQL 15 or newer

Settings come from options, then from the environment; \`treadle config\` lists all of them.

Exit codes:
${exitCodeTable()}`,
    );
  return program;
}

export function readVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
