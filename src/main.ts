import { type Command, CommanderError } from "commander";
import { register as registerAgent } from "./cli/agent.ts";
import { register as registerConfig } from "./cli/config.ts";
import { register as registerDoctor } from "./cli/doctor.ts";
import { exitCodes } from "./cli/exit-codes.ts";
import { register as registerKeys } from "./cli/keys.ts";
import { register as registerMigrate } from "./cli/migrate.ts";
import { createProgram, type GlobalOptions } from "./cli/program.ts";
import { register as registerUp } from "./cli/up.ts";

/** One file per command. A command imports what it needs when it runs, so that `--help` stays quick. */
const commands: ((program: Command) => void)[] = [
  registerUp,
  registerAgent,
  registerKeys,
  registerMigrate,
  registerConfig,
  registerDoctor,
];

export async function main(argv: string[]): Promise<void> {
  const program = createProgram();
  for (const register of commands) register(program);
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
