import type { Command } from "commander";
import type { LoginLinkOptions } from "./options.ts";

/** On the database itself: everyone who can read that can act as anybody, so no key is needed. */
export function register(program: Command): void {
  program
    .command("login-link")
    .description("create a link that signs somebody in to the console, once and within 15 minutes")
    .option("--email <address>", "who signs in; default: the administrator of the first start")
    .addHelpText(
      "after",
      `
For the operator, on the server's machine. It works on the database directly (--data-dir or DATABASE_URL),
even if single sign-on is required.

Examples:
  treadle login-link
  treadle login-link --email ada@example.com`,
    )
    .action(async (_options: object, command: Command) => {
      const { makeLoginLink } = await import("./login-link.ts");
      await makeLoginLink(command.optsWithGlobals<LoginLinkOptions>());
    });
}
