import { Command, CommanderError } from "commander";
import { register as registerAgent } from "./cli/commands/agent/command.ts";
import { register as registerAlerts } from "./cli/commands/alerts/command.ts";
import { register as registerArtifact } from "./cli/commands/artifact/command.ts";
import { register as registerAudit } from "./cli/commands/audit/command.ts";
import { register as registerCompletion } from "./cli/commands/completion/command.ts";
import { register as registerConfig } from "./cli/commands/config/command.ts";
import { register as registerConnect } from "./cli/commands/connect/command.ts";
import { register as registerDeploy } from "./cli/commands/deploy/command.ts";
import { register as registerDeployments } from "./cli/commands/deployments/command.ts";
import { register as registerDev } from "./cli/commands/dev/command.ts";
import { register as registerDoctor } from "./cli/commands/doctor/command.ts";
import { register as registerExport } from "./cli/commands/export/command.ts";
import { register as registerKeys } from "./cli/commands/keys/command.ts";
import { register as registerListener } from "./cli/commands/listener/command.ts";
import { register as registerListeners } from "./cli/commands/listeners/command.ts";
import { register as registerLogin } from "./cli/commands/login/command.ts";
import { register as registerLoginLink } from "./cli/commands/login-link/command.ts";
import { register as registerLogs } from "./cli/commands/logs/command.ts";
import { register as registerMigrate } from "./cli/commands/migrate/command.ts";
import { register as registerNew } from "./cli/commands/new/command.ts";
import { register as registerOpen } from "./cli/commands/open/command.ts";
import { register as registerPlan } from "./cli/commands/plan/command.ts";
import { register as registerRevisions } from "./cli/commands/revisions/command.ts";
import { register as registerRuns } from "./cli/commands/runs/command.ts";
import { register as registerTraces } from "./cli/commands/traces/command.ts";
import { register as registerUp } from "./cli/commands/up/command.ts";
import { register as registerWorker } from "./cli/commands/worker/command.ts";
import { exitCodes } from "./cli/exit-codes.ts";
import { createProgram, type GlobalOptions, nameOwnHelp } from "./cli/program.ts";
import { endWithReader } from "./cli/server/lost-reader.ts";

type Register = (program: Command) => void;

/** One folder per command. A command imports what it needs when it runs, so that `--help` stays quick. */
const commands: Record<string, Register[]> = {
  "Serve:": [registerUp, registerAgent, registerListener, registerWorker],
  "Write an agent:": [registerNew, registerDev],
  "Use a server:": [
    registerOpen,
    registerDeploy,
    registerLogs,
    registerDeployments,
    registerRevisions,
    registerRuns,
    registerListeners,
    registerAlerts,
    registerAudit,
    registerExport,
    registerConnect,
    registerLogin,
    registerKeys,
  ],
  "Look after this machine:": [
    registerArtifact,
    registerLoginLink,
    registerPlan,
    registerMigrate,
    registerTraces,
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
  nameOwnHelp(program);
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
  const { readSetting } = await import("./config/index.ts");
  const level = readSetting("TREADLE_LOG_LEVEL");
  return reportFailure(error, { json: options.json === true, debug: level === "debug" || level === "trace" });
}
