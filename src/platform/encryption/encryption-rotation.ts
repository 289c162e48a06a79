import type { Database, Sql } from "../db/database.ts";
import { raw } from "../db/raw.ts";
import { AppError, errorMessage } from "../errors.ts";
import { newSecret } from "../ids.ts";
import {
  announceEncryptionKeys,
  listEncryptionKeys,
  lockEncryptionKeys,
  retireOtherKeys,
} from "./encryption-key-store.ts";
import { type EncryptionSettings, readSecretKeys, recordCurrentKey } from "./encryption-keys.ts";
import { SecretBox, sealedPrefix, wrongKey } from "./secret-box.ts";
import { readKeyFile, replaceKeyFile, secretKeyPath } from "./secret-key-file.ts";

/** A column of sealed texts. Every area lists its own; a rotation re-seals them all. */
export type SealedColumn = {
  table: string;
  /** The primary key. */
  idColumns: readonly string[];
  column: string;
  /** The context each text was sealed with, from the values of `idColumns`. */
  context(...ids: string[]): string;
};

export type RotationResult = {
  keyId: string;
  resealed: number;
  /** Rows that no known key opens; while there are any, no key is retired. */
  unreadable: { table: string; id: string; reason: string }[];
  retired: string[];
};

export type RotationOptions = EncryptionSettings & {
  database: Database;
  columns: readonly SealedColumn[];
  batchSize?: number;
};

/**
 * `treadle keys rotate-encryption`. With a key file: makes a new key, keeps the old one beside it, re-seals.
 * With TREADLE_SECRET_KEY: re-seals from the previous key to that one. If it is stopped half-way, the next call continues
 * where it stopped, because what is left to do is read from the rows themselves.
 */
export async function rotateEncryption(options: RotationOptions): Promise<RotationResult> {
  const { database } = options;
  const box = await database.transaction(async (tx) => {
    await lockEncryptionKeys(tx);
    const prepared = await prepareKeys(tx, options);
    await recordCurrentKey(tx, prepared);
    await announceEncryptionKeys(tx, prepared.currentKeyId());
    return prepared;
  });

  const unreadable: RotationResult["unreadable"] = [];
  let resealed = 0;
  for (const column of options.columns) {
    const done = await resealColumn(database, box, column, options.batchSize ?? 200);
    resealed += done.resealed;
    unreadable.push(...done.unreadable);
  }
  const retired = unreadable.length > 0 ? [] : await retireKeys(options, box.currentKeyId());
  return { keyId: box.currentKeyId(), resealed, unreadable, retired };
}

function retireKeys(options: RotationOptions, currentKeyId: string): Promise<string[]> {
  return options.database.transaction(async (tx) => {
    await lockEncryptionKeys(tx);
    const retired = await retireOtherKeys(tx, currentKeyId);
    const path = secretKeyPath(options.dataDir);
    const file = await readKeyFile(path);
    // One retired key stays until the next rotation: a process that missed the announcement may have sealed with it.
    if (file && file.previous.length > 1) {
      await replaceKeyFile(path, { current: file.current, previous: file.previous.slice(0, 1) });
    }
    return retired;
  });
}

async function prepareKeys(tx: Sql, options: RotationOptions): Promise<SecretBox> {
  const keys = await readSecretKeys(options);
  if (!keys) {
    throw new AppError({
      code: "secret.no_key",
      kind: "invalid",
      message: "There is no encryption key to rotate yet: start Treadle once, or set TREADLE_SECRET_KEY.",
    });
  }
  const box = new SecretBox(keys);
  const active = (await listEncryptionKeys(tx)).filter((row) => row.retired_at === null);
  const missing = active.find((row) => !box.knowsKey(row.key_id));
  if (missing) throw wrongKey(missing.key_id, box.currentKeyId());

  // An older key still in use means a rotation was begun: finish that one instead of starting another.
  const begun = active.some((row) => row.key_id !== box.currentKeyId());
  if (begun || options.secretKey !== undefined) return box;

  const path = secretKeyPath(options.dataDir);
  const file = await readKeyFile(path);
  if (!file) throw new Error(`${path} vanished while its keys were being rotated`);
  const next = { current: newSecret(), previous: [file.current, ...file.previous] };
  await replaceKeyFile(path, next);
  box.replaceKeys({ currentKey: next.current, previousKeys: next.previous });
  return box;
}

type Resealed = { ids: string[]; failed?: string };

async function resealColumn(database: Database, box: SecretBox, column: SealedColumn, batchSize: number) {
  const unreadable: RotationResult["unreadable"] = [];
  let resealed = 0;
  let after: string[] | null = null;
  for (;;) {
    const batch: Resealed[] = await database.transaction((tx) =>
      resealBatch(tx, box, column, after, batchSize),
    );
    for (const row of batch) {
      if (row.failed === undefined) resealed += 1;
      else unreadable.push({ table: column.table, id: row.ids.join(" "), reason: row.failed });
    }
    if (batch.length < batchSize) return { resealed, unreadable };
    after = batch.at(-1)!.ids;
  }
}

async function resealBatch(
  tx: Sql,
  box: SecretBox,
  target: SealedColumn,
  after: string[] | null,
  limit: number,
): Promise<Resealed[]> {
  const table = raw.table(target.table);
  const column = raw.ref(target.column);
  const idColumns = raw.join(target.idColumns.map((name) => raw.ref(name)));
  const idTexts = raw.join(target.idColumns.map((name) => raw`${raw.ref(name)}::text`));
  const isAfter = after === null ? raw`true` : raw`(${idColumns}) > (${raw.join(after)})`;
  const done = `${sealedPrefix(box.currentKeyId())}%`;
  const { rows } = await raw<{ ids: string[]; sealed: string }>`
    select array[${idTexts}] as ids, ${column} as sealed from ${table}
    where ${column} is not null and ${column} not like ${done} and ${isAfter}
    order by ${idColumns} limit ${limit}
    for update`.execute(tx);
  const results: Resealed[] = [];
  for (const { ids, sealed } of rows) {
    const context = target.context(...ids);
    try {
      const resealed = box.seal(box.open(sealed, context), context);
      await raw`update ${table} set ${column} = ${resealed}
        where (${idColumns}) = (${raw.join(ids)})`.execute(tx);
      results.push({ ids });
    } catch (error) {
      if (!(error instanceof AppError) || !error.code.startsWith("secret.")) throw error;
      results.push({ ids, failed: errorMessage(error) });
    }
  }
  return results;
}
