import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { AppError, errorMessage } from "../../../platform/errors.ts";

export type Secret = { name: string; value: string };
type Environment = Readonly<Record<string, string | undefined>>;

export type SecretOptions = { secret?: string[]; envFile?: string[]; removeSecret?: string[] };

/** What the options ask for; null where they ask for nothing. */
export async function readSecrets(
  options: SecretOptions,
  environment: Environment,
): Promise<Secret[] | null> {
  const { secret = [], envFile = [] } = options;
  if (secret.length === 0 && envFile.length === 0) return null;
  const found = new Map<string, string>();
  for (const file of envFile) {
    for (const [name, value] of Object.entries(await readEnvFile(file))) found.set(name, value);
  }
  for (const text of secret) {
    const { name, value } = parseSecret(text, environment);
    found.set(name, value);
  }
  return [...found].map(([name, value]) => ({ name, value }));
}

/** `NAME=VALUE`, or `NAME` alone for the value this shell has: that one is not in the list of processes. */
export function parseSecret(text: string, environment: Environment): Secret {
  const [, name = "", assigned] = /^([^=]+)(?:=([\s\S]*))?$/.exec(text) ?? [];
  const value = assigned ?? environment[name];
  if (name !== "" && value !== undefined) return { name, value };
  throw new AppError({
    code: "client.secret_missing",
    kind: "invalid",
    message:
      name === ""
        ? "--secret must be NAME=VALUE, or NAME for the value of that variable here."
        : `The variable ${name} is not set here. Set it, or give --secret ${name}=VALUE.`,
  });
}

async function readEnvFile(file: string): Promise<Record<string, string>> {
  try {
    return parseEnv(await readFile(file, "utf8")) as Record<string, string>;
  } catch (error) {
    throw new AppError({
      code: "client.env_file_unreadable",
      kind: "invalid",
      message: `The file of --env-file ${file} cannot be read: ${errorMessage(error)}`,
      cause: error,
    });
  }
}

/** What is kept is sent back as its mask; undefined when nothing changes. */
export function mergeSecrets(
  before: readonly Secret[],
  given: readonly Secret[] | null,
  removed: readonly string[] = [],
): Secret[] | undefined {
  if (given === null && removed.length === 0) return undefined;
  const kept = before.filter(
    ({ name }) => !removed.includes(name) && !given?.some((each) => each.name === name),
  );
  return [...kept.map(({ name, value }) => ({ name, value })), ...(given ?? [])];
}
