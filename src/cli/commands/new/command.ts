import { type Command, Option } from "commander";
import { type TemplateName, templateNames } from "../../../control-plane/templates/project-template.ts";
import type { GlobalOptions } from "../../program.ts";

export type NewOptions = GlobalOptions & { template?: TemplateName };

export function register(program: Command): void {
  program
    .command("new")
    .argument("<folder>", "folder to create; its name becomes the project's name")
    .description("create a small project that runs without a key")
    .addOption(new Option("-t, --template <name>", "the language").choices([...templateNames]))
    .addHelpText(
      "after",
      `
Examples:
  treadle new my-agent                       asks for the language; without a terminal: TypeScript
  treadle new my-agent --template python`,
    )
    .action(async (folder: string, _options: object, command: Command) => {
      const { runNew } = await import("./new.ts");
      await runNew(folder, command.optsWithGlobals<NewOptions>());
    });
}
