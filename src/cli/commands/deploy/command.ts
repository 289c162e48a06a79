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
    .option(
      "--git [url]",
      "deploy from git instead of an upload; without a URL: this repository's pushed commit",
    )
    .option("--ref <ref>", "branch, tag or commit, with --git (default: main, or the commit here)")
    .option(
      "-s, --secret <name=value>",
      "an environment variable of the server; NAME alone takes its value from this shell",
      collect,
    )
    .option("--env-file <file>", "add every variable of a .env file as a secret", collect)
    .option(
      "--secret-from <name=secret/key>",
      "an environment variable whose value is a key of a Secret in the Kubernetes cluster",
      collect,
    )
    .option("--remove-secret <name>", "remove a variable that --secret or --secret-from has set", collect)
    .option("--install-command <command>", "install with this command instead of by the lock file")
    .option("--build-command <command>", "run after the install, in the folder of the project file")
    .option("--cpu <number>", "CPU limit of its server, such as 0.5", parseNumber)
    .option("--memory <megabytes>", "memory limit of its server, such as 512", parseNumber)
    .option("--listener <id>", "run it at this listener, in another network; only for a new deployment")
    .option("--no-wait", "return as soon as the revision is created")
    .addOption(timeoutOption("how long to wait: 90s, 20m, 1h", "30m"))
    .addHelpText(
      "after",
      `
Creates the deployment of that name, or adds a revision to it. The folder is packed without the files that
.gitignore and .dockerignore name, and without node_modules, .venv, .git and .env files. Existing secrets
stay; the given ones are added or replaced.

With --secret-from the value stays in the cluster: the server's pods read it, the platform never does. The Secret
is in the namespace of the server and has the label treadle.dev/shared-with with the id of your workspace. For
example, for OPENAI_API_KEY=model-keys/openai:
  kubectl -n NAMESPACE create secret generic model-keys --from-literal=openai=VALUE
  kubectl -n NAMESPACE label secret model-keys treadle.dev/shared-with=WORKSPACE_ID

Exits with 0 and the address once the revision serves, or with 15 and the reason if it fails. Then the
previous revision keeps serving. Ctrl-C ends the wait, not the deployment.

Examples:
  treadle deploy
  treadle deploy --name support-bot --env-file .env
  treadle deploy -s OPENAI_API_KEY                   the value in this shell, not in the arguments
  treadle deploy --secret-from OPENAI_API_KEY=model-keys/openai
  treadle deploy --git                               this commit, from this repository's remote
  treadle deploy --git https://github.com/me/bot.git --ref v2 --name bot
  URL=$(treadle deploy)                              progress on stderr, the address on stdout`,
    )
    .action(async (folder: string | undefined, _options: object, command: Command) => {
      const { deploy } = await import("./deploy.ts");
      await deploy(folder, command.optsWithGlobals<DeployOptions>());
    });
}
