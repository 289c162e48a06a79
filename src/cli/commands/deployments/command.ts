import type { Command } from "commander";
import type { DeploymentsOptions } from "./options.ts";

export function register(program: Command): void {
  const deployments = program
    .command("deployments")
    .description("list, show and delete deployments")
    .addHelpText(
      "after",
      `
Examples:
  treadle deployments
  treadle deployments get support-bot
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
    .description("show a deployment: address, what it serves, the names of its secrets")
    .action(async (given: string | undefined, _options: object, command: Command) => {
      const { showDeployment } = await import("./deployments.ts");
      await showDeployment(given, command.optsWithGlobals<DeploymentsOptions>());
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
