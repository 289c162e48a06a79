import type { Command } from "commander";
import type { OpenOptions } from "./options.ts";

export function register(program: Command): void {
  program
    .command("open")
    .argument("[page]", "page to open: deployments, agents, traces, chat, settings; default: the overview")
    .option("--no-browser", "print the address without opening a browser")
    .description("open the console in a browser, signed in")
    .addHelpText(
      "after",
      `
For the server of this machine it creates a link that signs in once, as \`treadle login-link\` does. If
another server is named (--url, --profile, TREADLE_URL), it opens that server's own sign-in page.

Examples:
  treadle open
  treadle open traces
  treadle open chat --no-browser`,
    )
    .action(async (page: string | undefined, _options: object, command: Command) => {
      const { openConsole } = await import("./open.ts");
      await openConsole(page, command.optsWithGlobals<OpenOptions>());
    });
}
