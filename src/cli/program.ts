import { readFileSync } from "node:fs";
import { Command, type Option } from "commander";
import { exitCodeTable } from "./exit-codes.ts";
import type { OutputOptions } from "./terminal/output.ts";

export type GlobalOptions = OutputOptions & {
  dataDir?: string;
  url?: string;
  apiKey?: string;
  workspace?: string;
  profile?: string;
};

/** The command itself, before the commands register: what holds for all of them. */
export function createProgram(): Command {
  const program = new Command("treadle")
    .description(
      "The open, self-hosted platform for agents in TypeScript and Python: deploy, run, stream, trace and export them.",
    )
    .version(readVersion(), "-V, --version", "print the version")
    .option("--data-dir <folder>", "folder for the database, keys, builds and logs (TREADLE_DATA_DIR)")
    .option("--url <address>", "the server (TREADLE_URL)")
    .option(
      "--api-key <key>",
      "the key to use; other users can see it in the process list: prefer TREADLE_API_KEY or a profile",
    )
    .option("--workspace <id>", "the workspace (TREADLE_WORKSPACE_ID)")
    .option("--profile <name>", "a server stored by `treadle login` (TREADLE_PROFILE)")
    .option("--json", "print results as JSON")
    .option("--no-color", "print without colours (also: NO_COLOR=1)")
    .helpOption("-h, --help", "print this help")
    .showHelpAfterError("Run `treadle --help` for the list of commands.")
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true, visibleGlobalOptions })
    .exitOverride()
    .addHelpText(
      "after",
      `
Examples:
  treadle up                                start everything on http://127.0.0.1:8124
  treadle deploy                            deploy the project in this folder to it
  treadle logs -f                           follow its log
  treadle rollback                          go back to the previous revision
  treadle login --url https://...           use a server elsewhere from now on
  treadle export create --project default --destination lake --from 7d --wait
  treadle doctor                            check that this machine has what Treadle needs
  DATABASE_URL=postgres://... treadle up    with your own PostgreSQL 15 or newer

A command uses the first server it finds here:
  1. options        --url, --api-key, --workspace, or a whole --profile
  2. environment    TREADLE_URL, TREADLE_API_KEY, TREADLE_WORKSPACE_ID, TREADLE_PROFILE
  3. profile        from \`treadle login\` or \`treadle profile use\`, in ~/.config/treadle/profiles.json
  4. started here   .treadle/credentials.json in this folder or one above (or in --data-dir)
A key stored with an address is never sent to another one. \`treadle whoami\` shows what is in use.

Settings of the server come from options, then from the environment; \`treadle config\` lists all of them.

Exit codes:
${exitCodeTable()}`,
    );
  return program;
}

/** After a wrong option, the help that lists the right ones is that of the command. */
export function nameOwnHelp(command: Command, path: readonly string[] = []): void {
  const name = ["treadle", ...path].join(" ");
  const lists = command.commands.length > 0 ? "the list of commands" : "its arguments and options";
  command.showHelpAfterError(`Run \`${name} --help\` for ${lists}.`);
  for (const each of command.commands) nameOwnHelp(each, [...path, each.name()]);
}

const withoutServer = new Set([
  "up",
  "agent",
  "listener",
  "dev",
  "new",
  "migrate",
  "config",
  "doctor",
  "completion",
]);
const ofServer = new Set(["url", "apiKey", "workspace", "profile"]);

/** Only those that mean something for the command. */
function visibleGlobalOptions(command: Command): Option[] {
  const isLocal = withoutServer.has(command.name()) && command.parent?.parent === null;
  let program = command;
  while (program.parent) program = program.parent;
  return (program === command ? [] : program.options).filter(
    (option) => option.long !== "--version" && !(isLocal && ofServer.has(option.attributeName())),
  );
}

export function readVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
