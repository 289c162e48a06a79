import type { Command } from "commander";
import { collect, parseNumber, timeoutOption } from "../../terminal/parse-amounts.ts";
import type { DeployOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("deploy")
    .argument("[folder]", "the project; default: this folder")
    .description("deploy a project folder or a git repository, and wait until it is served")
    .option("-n, --name <name>", "name of the deployment; default: the package's or the folder's")
    .option("-c, --config <file>", "the project file, relative to the folder (default: langgraph.json)")
    .option("--git [url]", "from git instead of an upload; without a URL: this repository's pushed commit")
    .option("--ref <ref>", "branch, tag or commit, with --git (default: main, or the commit here)")
    .option(
      "-s, --secret <name=value>",
      "a variable of the server; NAME alone takes its value from here",
      collect,
    )
    .option("--env-file <file>", "every variable of a .env file as a secret", collect)
    .option("--remove-secret <name>", "take a secret away", collect)
    .option("--install-command <command>", "instead of the install that the lock file asks for")
    .option("--build-command <command>", "run after the install, beside the project file")
    .option("--cpu <number>", "most processors its server may use, such as 0.5", parseNumber)
    .option("--memory <megabytes>", "most memory its server may use, such as 512", parseNumber)
    .option("--no-wait", "return as soon as it is on its way")
    .addOption(timeoutOption("how long to wait: 90s, 20m, 1h", "30m"))
    .addHelpText(
      "after",
      `
Creates the deployment of that name, or adds a revision to it. The folder is packed without what
.gitignore and .dockerignore name, and never with node_modules, .venv, .git or .env files. Secrets
that a deployment has stay; those given are added or replaced.

Ends with 0 and the address once the revision serves, with 15 and the reason when it does not; the
revision before then goes on serving. Ctrl-C stops the waiting, not the deployment.

Examples:
  treadle deploy
  treadle deploy --name support-bot --env-file .env
  treadle deploy -s OPENAI_API_KEY                   the value of this shell, kept out of the arguments
  treadle deploy --git                               this commit, from this repository's remote
  treadle deploy --git https://github.com/me/bot.git --ref v2 --name bot
  URL=$(treadle deploy)                              progress on stderr, the address on stdout`,
    )
    .action(async (folder: string | undefined, _options: object, command: Command) => {
      const { deploy } = await import("./deploy.ts");
      await deploy(folder, command.optsWithGlobals<DeployOptions>());
    });
}
