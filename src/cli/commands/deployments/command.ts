import type { Command } from "commander";
import type { DeploymentsOptions } from "./options.ts";

const powers = [
  ["restart", "replace the server of a deployment with a new one; no request is lost"],
  ["stop", "stop a deployment; requests are answered with 503 until it is started"],
  ["start", "start a deployment that was stopped, and wait until it serves"],
  ["sleep", "put a deployment to sleep when it has nothing to do; the next request wakes it"],
  ["wake", "wake a deployment that is asleep, and wait until it serves"],
] as const;

export function register(program: Command): void {
  const deployments = program
    .command("deployments")
    .description("list, show, stop, start, restart, put to sleep, wake and delete deployments")
    .addHelpText(
      "after",
      `
Examples:
  treadle deployments
  treadle deployments get support-bot
  treadle deployments restart support-bot
  treadle deployments stop support-bot
  treadle deployments start support-bot
  treadle deployments sleep support-bot
  treadle deployments domains add support-bot agent.example.com
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
  registerDomains(deployments);
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

/** Commands that name a deployment and one of its domains. */
const domainCommands = [
  ["add", "addDomain", "add a domain, and print the DNS record that proves it"],
  ["verify", "verifyDomain", "look for the DNS record now; ends with 1 while it is not there"],
  ["remove", "removeDomain", "remove a domain; nothing is served there any more"],
] as const;

function registerDomains(deployments: Command): void {
  const domains = deployments
    .command("domains")
    .description("list, add, verify and remove the domains of a deployment");
  domains
    .command("list", { isDefault: true })
    .argument("[deployment]", "name or id; default: the one this folder deploys to")
    .description("list the domains of a deployment, with the DNS records that prove them")
    .action(async (given: string | undefined, _options: object, command: Command) => {
      const { listDomains } = await import("./domains.ts");
      await listDomains(given, command.optsWithGlobals<DeploymentsOptions>());
    });
  for (const [name, act, description] of domainCommands) {
    domains
      .command(name)
      .argument("<deployment>", "name or id")
      .argument("<domain>", "a host, such as agent.example.com")
      .description(description)
      .action(async (given: string, domain: string, _options: object, command: Command) => {
        const acts = await import("./domains.ts");
        await acts[act](given, domain, command.optsWithGlobals<DeploymentsOptions>());
      });
  }
}
