import { type Command, Option } from "commander";
import { type Role, roles } from "../platform/http/caller.ts";
import type { GlobalOptions } from "./program.ts";

export type KeysOptions = GlobalOptions & { role?: Role };

/** On the named server, or on the database itself, so that somebody who lost every key can still make one. */
export function register(program: Command): void {
  const keys = program
    .command("keys")
    .description("list, make and revoke API keys; rotate the encryption key")
    .addHelpText(
      "after",
      `
Where a server is named (--url, --profile, TREADLE_URL, or \`treadle login\` before) they work on that one,
with your API key. Otherwise, and with --data-dir or DATABASE_URL, they work on the database directly,
whether the server runs or not and without any key, in the workspace that the first start made (or
TREADLE_WORKSPACE_ID). The encryption key is always rotated on the database.

Examples:
  treadle keys list
  treadle keys create ci --role editor
  treadle keys revoke 01981f5e-...
  treadle keys list --url https://treadle.example.com`,
    );

  keys
    .command("list")
    .description("list the API keys; their texts are stored hashed and cannot be shown again")
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<KeysOptions>();
      const { listKeys } = await keysOf(options);
      await listKeys(options);
    });
  keys
    .command("create")
    .argument("<name>", "what the key is for")
    .addOption(new Option("--role <role>", "what it may do").choices(roles).default("admin" satisfies Role))
    .description("make an API key and print it, once")
    .action(async (name: string, _options: object, command: Command) => {
      const options = command.optsWithGlobals<KeysOptions>();
      const { createKey } = await keysOf(options);
      await createKey(name, options);
    });
  keys
    .command("revoke")
    .argument("<id>", "id of the key, from `treadle keys list`")
    .description("revoke an API key; requests with it answer 401 from then on")
    .action(async (id: string, _options: object, command: Command) => {
      const options = command.optsWithGlobals<KeysOptions>();
      const { revokeKey } = await keysOf(options);
      await revokeKey(id, options);
    });
  keys
    .command("rotate-encryption")
    .description("seal every stored secret with a new encryption key")
    .action(async (_options: object, command: Command) => {
      const { rotateEncryption } = await import("./keys-run.ts");
      await rotateEncryption(command.optsWithGlobals<KeysOptions>());
    });
}

async function keysOf(options: KeysOptions) {
  const remote = await import("./keys-remote.ts");
  return (await remote.namesServer(options)) ? remote : import("./keys-run.ts");
}
