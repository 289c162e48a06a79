import { type Command, InvalidArgumentError, Option } from "commander";
import { roles } from "../../../platform/http/access/caller.ts";
import { type Scope, scopes } from "../../../platform/http/access/scope.ts";
import type { KeysOptions } from "./options.ts";

/** `90d`, `12h`, a time, or `never`. */
export function readExpiry(text: string, now: Date = new Date()): Date | null {
  if (text.trim() === "never") return null;
  const [, amount, unit] = /^(\d+)(d|h)$/.exec(text.trim()) ?? [];
  const at = amount
    ? new Date(now.getTime() + Number(amount) * (unit === "d" ? 86_400_000 : 3_600_000))
    : new Date(text);
  if (!Number.isNaN(at.getTime()) && at > now) return at;
  throw new InvalidArgumentError(
    "Write a span from now such as 90d or 12h, a time to come such as 2030-01-31, or never.",
  );
}

function addScope(text: string, before: Scope[] = []): Scope[] {
  const named = text.split(",").map((each) => each.trim());
  const unknown = named.find((each) => !(scopes as readonly string[]).includes(each));
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is none of ${scopes.join(", ")}.`);
  return [...new Set([...before, ...(named as Scope[])])];
}

/** On the named server, or on the database itself, so that a user who lost every key can still make one. */
export function register(program: Command): void {
  const keys = program
    .command("keys")
    .description("list, create and revoke API keys; rotate the encryption key")
    .addHelpText(
      "after",
      `
If a server is named (--url, --profile, TREADLE_URL, or \`treadle login\` before), they work on that one,
with your API key. Otherwise, and with --data-dir or DATABASE_URL, they work on the database directly,
whether the server runs or not and without any key, in the workspace that the first start created (or
TREADLE_WORKSPACE_ID). The encryption key is always rotated on the database.

Examples:
  treadle keys list
  treadle keys create ci --service --scope deploy,read --expires 90d
  treadle keys create my-app --service --scope traces:write --tracing-project my-app
  treadle keys create laptop
  treadle keys create operator --role admin --expires never
  treadle keys revoke 01981f5e-...
  treadle keys list --url https://treadle.example.com`,
    );

  keys
    .command("list")
    .description("list the API keys; only their hashes are stored, so the keys cannot be shown again")
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<KeysOptions>();
      const { listKeys } = await keysOf(options);
      await listKeys(options);
    });
  keys
    .command("create")
    .argument("<name>", "what the key is for")
    .addOption(
      new Option(
        "--role <role>",
        "how much it may do (default: editor; with --scope: what the scopes need)",
      ).choices(roles),
    )
    .option(
      "--scope <scope>",
      `restrict it to this; can be repeated or a list: ${scopes.join(", ")} (default: everything its role allows)`,
      addScope,
    )
    .option("--expires <when>", "90d, 12h, a time or never (default: 90d)", (text: string) =>
      readExpiry(text),
    )
    .option(
      "--service",
      "a key that belongs to the workspace and to no person, for CI and other machines; needs --scope",
    )
    .option("--tracing-project <name>", "with --scope traces:write: the one project it may write to")
    .description("create an API key and print it, once")
    .action(async (name: string, _options: object, command: Command) => {
      const options = command.optsWithGlobals<KeysOptions>();
      const { createKey } = await keysOf(options);
      await createKey(name, options);
    });
  keys
    .command("revoke")
    .argument("<id>", "id of the key, from `treadle keys list`")
    .description("revoke an API key; requests with it then get 401")
    .action(async (id: string, _options: object, command: Command) => {
      const options = command.optsWithGlobals<KeysOptions>();
      const { revokeKey } = await keysOf(options);
      await revokeKey(id, options);
    });
  keys
    .command("rotate-encryption")
    .description("encrypt every stored secret with a new encryption key")
    .action(async (_options: object, command: Command) => {
      const { rotateEncryption } = await import("./keys-in-database.ts");
      await rotateEncryption(command.optsWithGlobals<KeysOptions>());
    });
}

async function keysOf(options: KeysOptions) {
  const { namesServer } = await import("../../client/names-server.ts");
  return (await namesServer(options)) ? import("./keys-on-server.ts") : import("./keys-in-database.ts");
}
