import { Argument, type Command } from "commander";
import { type Plan, plans } from "../../../workspaces/identity/workspace.ts";
import type { PlanOptions } from "./options.ts";

/** On the named server for who runs the installation, or on the database itself. */
export function register(program: Command): void {
  const plan = program
    .command("plan")
    .description("show and set the plan of an organization (only used in the cloud edition)")
    .addHelpText(
      "after",
      `
If a server is named (--url, --profile, TREADLE_URL, or \`treadle login\` before), they work on that one. To set
a plan there, you need your own key as an administrator of the installation's first workspace. Otherwise, and with
--data-dir or DATABASE_URL, they work on the database directly, for the operator of the server's machine.

Examples:
  treadle plan show
  treadle plan set plus
  treadle plan set enterprise --organization 01981f5e-...`,
    );
  const organization = [
    "--organization <id>",
    "which organization (default: the one the first start made)",
  ] as const;
  plan
    .command("show")
    .option(...organization)
    .description("show the plan and its features")
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<PlanOptions>();
      await (await planOf(options)).showPlan(options);
    });
  plan
    .command("set")
    .addArgument(new Argument("<plan>", "the plan").choices(plans))
    .option(...organization)
    .description("set the plan; it applies from the next request on, and the audit log records it")
    .action(async (wanted: Plan, _options: object, command: Command) => {
      const options = command.optsWithGlobals<PlanOptions>();
      await (await planOf(options)).setPlan(wanted, options);
    });
}

async function planOf(options: PlanOptions) {
  const { namesServer } = await import("../../client/names-server.ts");
  return (await namesServer(options)) ? import("./plan-on-server.ts") : import("./plan-in-database.ts");
}
