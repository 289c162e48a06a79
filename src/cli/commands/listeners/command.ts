import { type Command, Option } from "commander";
import type { GlobalOptions } from "../../program.ts";
import type { CreateListenerOptions, DeleteListenerOptions } from "./options.ts";

export function register(program: Command): void {
  const listeners = program
    .command("listeners")
    .description("the listeners of a workspace, which run its deployments in other networks")
    .addHelpText(
      "after",
      `
Examples:
  treadle listeners
  treadle listeners create factory --type docker
  treadle listeners delete factory

\`create\` also makes the listener's own key and prints it, once. \`treadle listener\` then runs there
(docs/listeners.md).`,
    );
  listeners
    .command("list", { isDefault: true })
    .description("list them: whether their process is alive, what it is, how many deployments they have")
    .action(async (_options: object, command: Command) => {
      const { listListeners } = await import("./listeners.ts");
      await listListeners(command.optsWithGlobals<GlobalOptions>());
    });
  listeners
    .command("create")
    .argument("<name>", "your name for the place")
    .addOption(
      new Option("--type <type>", "how it starts servers")
        .choices(["process", "docker", "k8s"])
        .default("process"),
    )
    .option("--no-key", "make no key: you have one that no other listener uses")
    .description("make a listener and a key that acts for it and for nothing else")
    .action(async (name: string, _options: object, command: Command) => {
      const { createListener } = await import("./listeners.ts");
      await createListener(name, command.optsWithGlobals<CreateListenerOptions>());
    });
  listeners
    .command("delete")
    .argument("<listener>", "name or id")
    .option("-y, --yes", "do not ask")
    .description("delete a listener that has no deployments")
    .action(async (given: string, _options: object, command: Command) => {
      const { deleteListener } = await import("./listeners.ts");
      await deleteListener(given, command.optsWithGlobals<DeleteListenerOptions>());
    });
}
