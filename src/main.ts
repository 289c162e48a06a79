import { Command, CommanderError } from "commander";
import { register as registerAgent } from "./cli/agent.ts";
import { register as registerAudit } from "./cli/audit.ts";
import { register as registerCompletion } from "./cli/completion.ts";
import { register as registerConfig } from "./cli/config.ts";
import { register as registerConnect } from "./cli/connect.ts";
import { register as registerDeploy } from "./cli/deploy.ts";
import { register as registerDeployments } from "./cli/deployments.ts";
import { register as registerDoctor } from "./cli/doctor.ts";
import { exitCodes } from "./cli/exit-codes.ts";
import { register as registerExport } from "./cli/export.ts";
import { register as registerKeys } from "./cli/keys.ts";
import { register as registerLogin } from "./cli/login.ts";
import { register as registerLoginLink } from "./cli/login-link.ts";
import { register as registerLogs } from "./cli/logs.ts";
import { endWithReader } from "./cli/lost-reader.ts";
import { register as registerMigrate } from "./cli/migrate.ts";
import { register as registerPlan } from "./cli/plan.ts";
import { createProgram, type GlobalOptions } from "./cli/program.ts";
import { register as registerRevisions } from "./cli/revisions.ts";
import { register as registerRuns } from "./cli/runs.ts";
import { register as registerUp } from "./cli/up.ts";

type Register = (program: Command) => void;

/** One file per command. A command imports what it needs when it runs, so that `--help` stays quick. */
const commands: Record<string, Register[]> = {
  "Serve:": [registerUp, registerAgent],
  "Use a server:": [
    registerDeploy,
    registerLogs,
    registerDeployments,
    registerRevisions,
    registerRuns,
    registerAudit,
    registerExport,
    registerConnect,
    registerLogin,
    registerKeys,
  ],
  "Look after this machine:": [
    registerLoginLink,
    registerPlan,
    registerMigrate,
    registerConfig,
    registerDoctor,
    registerCompletion,
  ],
};

export async function main(argv: string[]): Promise<void> {
  const program = createProgram();
  for (const [heading, registers] of Object.entries(commands)) {
    program.commandsGroup(heading);
    for (const register of registers) register(program);
  }
  // Only now: the commands before would have taken the group over for their own.
  const help = new Command("help").argument("[command]").description("print the help of a command");
  program.addHelpCommand(help);
  endWithReader();
  try {
    await program.parseAsync(argv);
  } catch (error) {
    // Not process.exitCode: what a failed command left open must not keep it running.
    process.exit(await fail(error, program.opts<GlobalOptions>()));
  }
}

async function fail(error: unknown, options: GlobalOptions): Promise<number> {
  // Commander has already written its message; help and version end this way too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage.code;
  const { reportFailure } = await import("./cli/failure.ts");
  const { readSetting } = await import("./config.ts");
  const level = readSetting("TREADLE_LOG_LEVEL");
  return reportFailure(error, { json: options.json === true, debug: level === "debug" || level === "trace" });
}
