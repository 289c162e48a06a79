import type { Command } from "commander";
import type { GlobalOptions } from "../../program.ts";

export function register(program: Command): void {
  program
    .command("login")
    .description("check an API key and store it with its server as a profile")
    .addHelpText(
      "after",
      `
Asks for values that are missing; it can also read the key from standard input. It stores the key in
~/.config/treadle/profiles.json, which only you can read, and uses it from then on.

Examples:
  treadle login --url https://treadle.example.com
  treadle login --url https://staging.example.com --profile staging
  pass show treadle | treadle login --url https://treadle.example.com`,
    )
    .action(async (_options: object, command: Command) => {
      const { logIn } = await import("./login.ts");
      await logIn(command.optsWithGlobals<GlobalOptions>());
    });
  program
    .command("whoami")
    .description("show which server and workspace the commands use, and why")
    .action(async (_options: object, command: Command) => {
      const { showIdentity } = await import("./login.ts");
      await showIdentity(command.optsWithGlobals<GlobalOptions>());
    });

  const profile = program.command("profile").description("list, add, choose and remove stored servers");
  profile
    .command("list", { isDefault: true })
    .description("list the profiles; keys are not shown")
    .action(async (_options: object, command: Command) => {
      const { listProfiles } = await import("./profiles.ts");
      await listProfiles(command.optsWithGlobals<GlobalOptions>());
    });
  profile
    .command("add")
    .argument("<name>", "its name")
    .description("store a server given with --url, without contacting it; the key as with `treadle login`")
    .action(async (name: string, _options: object, command: Command) => {
      const { addProfile } = await import("./profiles.ts");
      await addProfile(name, command.optsWithGlobals<GlobalOptions>());
    });
  profile
    .command("use")
    .argument("<name>", "name of the profile")
    .description("use this server from now on")
    .action(async (name: string, _options: object, command: Command) => {
      const { selectProfile } = await import("./profiles.ts");
      await selectProfile(name, command.optsWithGlobals<GlobalOptions>());
    });
  profile
    .command("remove")
    .argument("<name>", "name of the profile")
    .description("remove a server and its key")
    .action(async (name: string, _options: object, command: Command) => {
      const { removeProfile } = await import("./profiles.ts");
      await removeProfile(name, command.optsWithGlobals<GlobalOptions>());
    });
}
