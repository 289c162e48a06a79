import type { Command } from "commander";
import { parseCount, timeoutOption } from "../../terminal/parse-amounts.ts";
import type { RevisionsOptions, RollbackOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("revisions")
    .argument("[deployment]", "name or id; default: the one this folder deploys to")
    .option("--limit <count>", "at most this many, newest first", parseCount, 20)
    .description("list the revisions of a deployment")
    .action(async (given: string | undefined, _options: object, command: Command) => {
      const { showRevisions } = await import("./revisions.ts");
      await showRevisions(given, command.optsWithGlobals<RevisionsOptions>());
    });
  program
    .command("rollback")
    .argument("[deployment]", "name or id; default: the one this folder deploys to")
    .argument("[revision]", "number or id; default: the one that served before")
    .option("--no-wait", "return as soon as the revision is created")
    .addOption(timeoutOption("how long to wait: 90s, 20m, 1h", "10m"))
    .description("deploy an earlier revision again, with its source and its secrets")
    .addHelpText(
      "after",
      `
Nothing is built again. A rollback is a revision itself: rolling back twice returns to the first one.

Examples:
  treadle rollback
  treadle rollback support-bot 7`,
    )
    .action(async (given: string | undefined, to: string | undefined, _options: object, command: Command) => {
      const { rollBack } = await import("./revisions.ts");
      await rollBack(given, to, command.optsWithGlobals<RollbackOptions>());
    });
}
