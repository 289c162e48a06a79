import type { Command } from "commander";
import type { GlobalOptions } from "../../program.ts";

export function register(program: Command): void {
  program
    .command("doctor")
    .description("check that this machine has what Treadle needs, and say how to fix what is missing")
    .option("-p, --port <number>", "the port that `up` will use (TREADLE_PORT)")
    .option("--host <address>", "the address that `up` will use (TREADLE_HOST)")
    .option("--roles <names>", "the roles that `up` will have (TREADLE_ROLES)")
    .addHelpText(
      "after",
      "\n✓ fine   ! optional, or worth checking   ✗ must be fixed: the command exits with 1",
    )
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & { port?: string; host?: string; roles?: string }
      >();
      const { environmentWith, readConfig } = await import("../../../config/index.ts");
      const config = readConfig(
        environmentWith({
          TREADLE_PORT: options.port,
          TREADLE_HOST: options.host,
          TREADLE_DATA_DIR: options.dataDir,
          TREADLE_ROLES: options.roles,
        }),
      );
      const { examineMachine } = await import("./checks.ts");
      const { createOutput } = await import("../../terminal/output.ts");
      const output = createOutput(options);
      const marks = {
        ok: output.paint("green", "✓"),
        warning: output.paint("yellow", "!"),
        failed: output.paint("red", "✗"),
      };
      const findings = await examineMachine(config);
      const healthy = findings.every(({ status }) => status !== "failed");
      output.data({ healthy, checks: findings });
      for (const { name, status, message, fix } of findings) {
        output.line(`${marks[status]} ${name.padEnd(18)}${message}`);
        if (fix !== undefined) output.line(`${" ".repeat(20)}${output.paint("dim", "→")} ${fix}`);
      }
      output.line();
      output.line(healthy ? "Treadle can run here." : "Treadle cannot run here yet; fix what is marked ✗.");
      process.exitCode = healthy ? 0 : 1;
    });
}
