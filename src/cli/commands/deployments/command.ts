import type { Command } from "commander";
import type { DeploymentsOptions } from "./options.ts";

const powers = [
  ["restart", "replace the server of a deployment with a new one; no request is lost"],
  ["stop", "stop a deployment; requests are answered with 503 until it is started"],
  ["start", "start a deployment that was stopped, and wait until it serves"],
] as const;

export function register(program: Command): void {
  const deployments = program
    .command("deployments")
    .description("list, show, stop, start, restart and delete deployments")
    .addHelpText(
      "after",
      `
Examples:
  treadle deployments
  treadle deployments get support-bot
  treadle deployments restart support-bot
  treadle deployments stop support-bot
  treadle deployments start support-bot
  treadle deployments delete support-bot --yes
  treadle deployments --json | jq -r '.[].url'`,
    );
  deployments
    .command("list", { isDefault: true })
    .description("list the deployments of the workspace, newest first")
    .action(async (_options: object, command: Command) => {
      const { listDeployments } = await import("./deployments.ts");
      await listDeployments(command.optsWithGlobals<DeploymentsOptions>());
    });
  deployments
    .command("get")
    .argument("[deployment]", "name or id; default: the one this folder deploys to")
    .description("show a deployment: its address, its revision, the names of its secrets")
    .action(async (given: string | undefined, _options: object, command: Command) => {
      const { showDeployment } = await import("./deployments.ts");
      await showDeployment(given, command.optsWithGlobals<DeploymentsOptions>());
    });
  for (const [power, description] of powers) {
    deployments
      .command(power)
      .argument("[deployment]", "name or id; default: the one this folder deploys to")
      .description(description)
      .action(async (given: string | undefined, _options: object, command: Command) => {
        const { powerDeployment } = await import("./power.ts");
        await powerDeployment(power, given, command.optsWithGlobals<DeploymentsOptions>());
      });
  }
  deployments
    .command("previews")
    .argument("<deployment>", "name or id")
    .argument("<on|off>", "whether each pull request gets its own deployment")
    .option("--share-secrets", "previews get its secrets: everyone who can push a branch can read them")
    .description("turn previews of pull requests on or off")
    .action(async (given: string, wanted: string, _options: object, command: Command) => {
      const { setPreviews } = await import("./previews.ts");
      await setPreviews(given, wanted, command.optsWithGlobals<DeploymentsOptions>());
    });
  deployments
    .command("delete")
    .argument("<deployment>", "name or id")
    .option("-y, --yes", "do not ask")
    .description("stop a deployment and delete it; its data is purged a day later")
    .action(async (given: string, _options: object, command: Command) => {
      const { deleteDeployment } = await import("./deployments.ts");
      await deleteDeployment(given, command.optsWithGlobals<DeploymentsOptions>());
    });
}
