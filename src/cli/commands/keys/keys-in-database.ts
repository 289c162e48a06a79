import { systemClock } from "../../../platform/clock.ts";
import { openSecretBox } from "../../../platform/encryption/encryption-keys.ts";
import { rotateEncryption as rotate } from "../../../platform/encryption/encryption-rotation.ts";
import { AppError } from "../../../platform/errors.ts";
import type { Caller } from "../../../platform/http/access/caller.ts";
import { isUuid } from "../../../platform/ids.ts";
import { ApiKeyService } from "../../../workspaces/api-keys/api-key-service.ts";
import { ApiKeyHasher } from "../../../workspaces/identity/api-key-hasher.ts";
import { IdentityChanges } from "../../../workspaces/identity/identity-change-service.ts";
import { neverStarted, withInstallation } from "../../server/installation.ts";
import { findOperator } from "../../server/operator.ts";
import { createOutput, formatTable } from "../../terminal/output.ts";
import { type KeysOptions, keyRequest } from "./options.ts";
import { scopesText } from "./scopes-text.ts";
import { sealedColumns } from "./sealed-columns.ts";

const pageSize = 1000;

export async function listKeys(options: KeysOptions): Promise<void> {
  const output = createOutput(options);
  const keys = await withKeys(options, (service, caller) =>
    service.list(caller, { limit: pageSize, offset: 0 }),
  );
  output.data(keys);
  const rows = keys.map((key) => [
    key.id,
    key.name,
    key.user_id === null ? `${key.role} (service)` : key.role,
    scopesText(key),
    key.prefix,
    key.last_used_at?.toISOString() ?? "never used",
    key.expires_at === null ? "" : `until ${key.expires_at.toISOString()}`,
  ]);
  const [head, ...lines] = formatTable([["ID", "NAME", "ROLE", "SCOPES", "KEY", "LAST USED", ""], ...rows]);
  output.line(output.paint("bold", head ?? ""));
  for (const line of lines) output.line(line);
}

export async function createKey(name: string, options: KeysOptions): Promise<void> {
  const output = createOutput(options);
  const made = await withKeys(options, (service, caller) =>
    service.create(caller, keyRequest(name, options)),
  );
  output.data(made);
  output.line(output.paint("green", made.key));
  output.line(
    `Key "${made.name}" (${made.role}, ${scopesText(made)}, id ${made.id}). It is not shown again.`,
  );
}

export async function revokeKey(id: string, options: KeysOptions): Promise<void> {
  const output = createOutput(options);
  if (!isUuid(id)) throw unknownKey(id);
  await withKeys(options, (service, caller) => service.revoke(caller, id)).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "api_key.not_found") throw unknownKey(id, error);
    throw error;
  });
  output.data({ revoked: id });
  output.line(`Key ${id} is revoked.`);
}

export async function rotateEncryption(options: KeysOptions): Promise<void> {
  const output = createOutput(options);
  const { keyId, resealed, unreadable, retired } = await withInstallation(options, ({ config, database }) =>
    rotate({ ...config, database, columns: sealedColumns }),
  );
  output.data({ key_id: keyId, resealed, unreadable, retired });
  output.line(`Stored secrets encrypted again: ${resealed}. The encryption key is now ${keyId}.`);
  if (retired.length > 0) output.line(`Retired: ${retired.join(", ")}.`);
  if (unreadable.length === 0) return;
  const places = unreadable.map(({ table, id, reason }) => `  ${table} ${id}: ${reason}`);
  throw new AppError({
    code: "secret.unreadable",
    kind: "internal",
    message: `No known key opens these; enter them again and rotate once more. No key was retired.\n${places.join("\n")}`,
  });
}

async function withKeys<T>(
  options: KeysOptions,
  work: (service: ApiKeyService, caller: Caller) => Promise<T>,
): Promise<T> {
  return withInstallation(options, async ({ config, database, logger }) => {
    const operator = await findOperator(database.sql, config.workspaceId, systemClock.now());
    if (operator === null) throw neverStarted(config.dataDir);
    const { secretBox, stop } = await openSecretBox({ ...config, database, logger });
    try {
      const hasher = new ApiKeyHasher({ database, secretBox });
      const changes = new IdentityChanges({ database, forget: () => {} });
      return await work(new ApiKeyService({ database, clock: systemClock, hasher, changes }), operator);
    } finally {
      await stop();
    }
  });
}

function unknownKey(id: string, cause?: unknown): AppError {
  return new AppError({
    code: "api_key.not_found",
    kind: "not_found",
    message: `There is no API key with the id ${id} in this workspace. \`treadle keys list\` shows the ids.`,
    cause,
  });
}
