import { type Command, Option } from "commander";
import { type Role, roles } from "../platform/http/caller.ts";
import type { GlobalOptions } from "./program.ts";

export type KeysOptions = GlobalOptions & { role?: Role };

/** Works on the database itself, so that somebody who lost every key can still make one. */
export function register(program: Command): void {
  const keys = program
    .command("keys")
    .description("list, make and revoke API keys; rotate the encryption key")
    .addHelpText(
      "after",
      `
These commands work on the database of the data folder (or DATABASE_URL) directly, whether the
server runs or not, in the workspace that the first start made (or TREADLE_WORKSPACE_ID).

Examples:
  treadle keys list
  treadle keys create ci --role editor
  treadle keys revoke 01981f5e-...`,
    );

  keys
    .command("list")
    .description("list the API keys; their texts are stored hashed and cannot be shown again")
    .action(async (_options: object, command: Command) => {
      const { listKeys } = await import("./keys-run.ts");
      await listKeys(command.optsWithGlobals<KeysOptions>());
    });
  keys
    .command("create")
    .argument("<name>", "what the key is for")
    .addOption(new Option("--role <role>", "what it may do").choices(roles).default("admin" satisfies Role))
    .description("make an API key and print it, once")
    .action(async (name: string, _options: object, command: Command) => {
      const { createKey } = await import("./keys-run.ts");
      await createKey(name, command.optsWithGlobals<KeysOptions>());
    });
  keys
    .command("revoke")
    .argument("<id>", "id of the key, from `treadle keys list`")
    .description("revoke an API key; requests with it answer 401 from then on")
    .action(async (id: string, _options: object, command: Command) => {
      const { revokeKey } = await import("./keys-run.ts");
      await revokeKey(id, command.optsWithGlobals<KeysOptions>());
    });
  keys
    .command("rotate-encryption")
    .description("seal every stored secret with a new encryption key")
    .action(async (_options: object, command: Command) => {
      const { rotateEncryption } = await import("./keys-run.ts");
      await rotateEncryption(command.optsWithGlobals<KeysOptions>());
    });
}
