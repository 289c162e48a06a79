import { type Command, Option } from "commander";
import { type TemplateName, templateNames } from "../../../control-plane/templates/project-template.ts";
import type { GlobalOptions } from "../../program.ts";

export type NewOptions = GlobalOptions & { template?: TemplateName };

export function register(program: Command): void {
  program
    .command("new")
    .argument("<folder>", "where the project is made; its name is the project's")
    .description("make a small project that runs without a key")
    .addOption(new Option("-t, --template <name>", "in which language").choices([...templateNames]))
    .addHelpText(
      "after",
      `
Examples:
  treadle new my-agent                       asks for the language; TypeScript where nobody can be asked
  treadle new my-agent --template python`,
    )
    .action(async (folder: string, _options: object, command: Command) => {
      const { runNew } = await import("./new.ts");
      await runNew(folder, command.optsWithGlobals<NewOptions>());
    });
}
