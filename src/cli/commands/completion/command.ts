import { type Command, Option } from "commander";
import type { GlobalOptions } from "../../program.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

export function register(program: Command): void {
  program
    .command("completion")
    .argument("<shell>", shells.join(", "))
    .description("print a script that makes a shell complete commands, options, deployments and alerts")
    .addHelpText(
      "after",
      `
Examples:
  source <(treadle completion bash)                           in ~/.bashrc
  source <(treadle completion zsh)                            in ~/.zshrc, after compinit
  treadle completion fish > ~/.config/fish/completions/treadle.fish`,
    )
    .action(async (shell: string, _options: object, command: Command) => {
      const { completionScript } = await import("./shell-scripts.ts");
      if (!(shells as readonly string[]).includes(shell)) {
        command.error(`error: there is no completion for ${shell}; there is for ${shells.join(", ")}`);
      }
      process.stdout.write(completionScript(shell as Shell));
    });
  // What the scripts call: the words after `treadle`, the last of them unfinished.
  program
    .command("complete", { hidden: true })
    .argument("[words...]")
    .addOption(new Option("--shell <name>").hideHelp())
    .action(async (words: string[], _options: object, command: Command) => {
      const { completeWords } = await import("./complete-words.ts");
      const { namesOnServer } = await import("./names-on-server.ts");
      const found = await completeWords(program, words, (thing) =>
        namesOnServer(thing, command.optsWithGlobals<GlobalOptions>()),
      );
      for (const word of found) process.stdout.write(`${word}\n`);
    });
}
