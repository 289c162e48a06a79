import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { AppError, errorMessage } from "../../../platform/errors.ts";

export type Secret = { name: string; value: string };
type Environment = Readonly<Record<string, string | undefined>>;

export type SecretOptions = { secret?: string[]; envFile?: string[]; removeSecret?: string[] };

/** A variable whose value is in a Secret of the cluster. */
export type SecretReference = { name: string; secret_name: string; secret_key: string };
export type Variables = { secrets?: Secret[]; secret_references?: SecretReference[] };

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

/** `NAME=SECRET/KEY`: neither the name of a Secret nor that of a key has a slash. */
export function parseSecretReference(text: string): SecretReference {
  const [, name, secret_name, secret_key] = /^([^=]+)=([^/]+)\/([^/]+)$/.exec(text) ?? [];
  if (name && secret_name && secret_key) return { name, secret_name, secret_key };
  throw new AppError({
    code: "client.secret_reference_invalid",
    kind: "invalid",
    message: `--secret-from must be NAME=SECRET/KEY, such as OPENAI_API_KEY=model-keys/openai, and ${JSON.stringify(text)} is not.`,
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

/** What a request sends of both lists. A name has one value: what is given takes the place of what was there, in either list. */
export function nextVariables(
  before: { secrets: readonly Secret[]; secret_references?: readonly SecretReference[] | null | undefined },
  given: { secrets: readonly Secret[] | null; references: readonly SecretReference[] },
  removed: readonly string[] = [],
): Variables {
  const away = new Set([...removed, ...given.references.map(({ name }) => name)]);
  const left = before.secrets.filter(({ name }) => away.has(name)).map(({ name }) => name);
  const secrets = mergeSecrets(before.secrets, given.secrets, left);
  const old = before.secret_references ?? [];
  const replaced = new Set(given.secrets?.map(({ name }) => name));
  const kept = old.filter(({ name }) => !away.has(name) && !replaced.has(name));
  const changes = given.references.length > 0 || kept.length < old.length;
  return {
    ...(secrets === undefined ? {} : { secrets }),
    ...(changes ? { secret_references: [...kept, ...given.references] } : {}),
  };
}
