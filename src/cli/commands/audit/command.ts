import { type Command, Option } from "commander";
import { auditActions } from "../../../platform/http/audit/audit-action.ts";
import { parseCount, parseMoment } from "../../terminal/parse-amounts.ts";
import type { AuditOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("audit")
    .description("show the audit log: who did what, to what, from where and with which key")
    .option("--since <when>", "only events after: 24h, 7d or a time", (text: string) => parseMoment(text))
    .addOption(new Option("--action <action>", "only this action").choices(Object.keys(auditActions)))
    .addOption(new Option("--outcome <outcome>", "only this outcome").choices(["done", "refused", "failed"]))
    .option("--limit <count>", "at most this many, newest first", parseCount, 50)
    .addHelpText(
      "after",
      `
Examples:
  treadle audit --since 7d --action api_key.created
  treadle audit --outcome refused --json`,
    )
    .action(async (_options: object, command: Command) => {
      const { showAudit } = await import("./audit.ts");
      await showAudit(command.optsWithGlobals<AuditOptions>());
    });
}
