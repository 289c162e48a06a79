import type { Command } from "commander";
import { parseCount, parseMoment } from "../../terminal/parse-amounts.ts";
import type { LogsOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("logs")
    .argument("[deployment]", "name or id; default: the one this folder deploys to")
    .description("show the log of a deployment's server or of its build")
    .option("-f, --follow", "follow new lines")
    .option("-b, --build", "the build's log instead of the server's")
    .option("-r, --revision <number>", "only one revision; default for builds: the latest")
    .option("-l, --level <level>", "this level and above: debug, info, warning, error, critical")
    .option("-q, --search <text>", "only lines with this text; case does not matter")
    .option("--since <time>", "only lines since: 10m, 2h, 2026-08-01T12:00:00Z", (text) => parseMoment(text))
    .option("-n, --lines <count>", "this many of the last lines, without --since", parseCount, 200)
    .addHelpText(
      "after",
      `
With --json each line is one JSON object.

Examples:
  treadle logs                              the deployment of this folder
  treadle logs support-bot -f --level warning
  treadle logs support-bot --build          the log of the latest build
  treadle logs support-bot --since 1h -q timeout --json | jq -r .message`,
    )
    .action(async (deployment: string | undefined, _options: object, command: Command) => {
      const { showLogs } = await import("./logs.ts");
      await showLogs(deployment, command.optsWithGlobals<LogsOptions>());
    });
}
