import type { Database, Sql } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import {
  encryptionKeysChannel,
  listEncryptionKeys,
  lockEncryptionKeys,
  saveEncryptionKey,
} from "./encryption-key-store.ts";
import { SecretBox, type SecretKeys, wrongKey } from "./secret-box.ts";
import { createKeyFile, readKeyFile, secretKeyPath } from "./secret-key-file.ts";

export type EncryptionSettings = {
  dataDir: string;
  /** Given by the operator; it wins over the key file, whose keys then only open. */
  secretKey: string | undefined;
  /** The operator's key before the current one, while a rotation is in progress. */
  previousSecretKey?: string | undefined;
};

export type OpenSecretBox = { secretBox: SecretBox; stop(): Promise<void> };

/**
 * Finds or makes the encryption key and proves that it fits the database. A key that does not fit ends the
 * start, before any file or row is written.
 */
export async function openSecretBox(
  options: EncryptionSettings & { database: Database; logger: Logger },
): Promise<OpenSecretBox> {
  const { database, logger } = options;
  const secretBox = await database.transaction(async (tx) => {
    await lockEncryptionKeys(tx);
    const keys = (await readSecretKeys(options)) ?? (await generateKeys(tx, options));
    const box = new SecretBox(keys);
    await checkKeys(tx, box);
    return box;
  });
  const reload = () => {
    readSecretKeys(options).then(
      (keys) => keys && secretBox.replaceKeys(keys),
      (error: unknown) =>
        logger.error({ err: error }, "the encryption keys changed but cannot be read again"),
    );
  };
  const unlisten = await database.listen(encryptionKeysChannel, reload, reload);
  return { secretBox, stop: unlisten };
}

/** Null when no key was ever given or generated here. */
export async function readSecretKeys(settings: EncryptionSettings): Promise<SecretKeys | null> {
  const file = await readKeyFile(secretKeyPath(settings.dataDir));
  const fileKeys = file ? [file.current, ...file.previous] : [];
  const all = [settings.secretKey, settings.previousSecretKey, ...fileKeys].filter(
    (key) => key !== undefined,
  );
  const currentKey = settings.secretKey ?? file?.current;
  if (currentKey === undefined) return null;
  return { currentKey, previousKeys: [...new Set(all)].filter((key) => key !== currentKey) };
}

async function generateKeys(tx: Sql, settings: EncryptionSettings): Promise<SecretKeys> {
  const known = (await listEncryptionKeys(tx)).filter((row) => row.retired_at === null);
  const path = secretKeyPath(settings.dataDir);
  if (known.length > 0) {
    throw new AppError({
      code: "secret.wrong_key",
      kind: "internal",
      message:
        `The encryption key is missing: this database was encrypted with key ${known[0]!.key_id}, but TREADLE_SECRET_KEY ` +
        `is not set and there is no file ${path}. Nothing was changed. Set the previous key, or restore that file.`,
    });
  }
  const file = await createKeyFile(path);
  return { currentKey: file.current, previousKeys: file.previous };
}

/** Every key still in use must be available; the current one is recorded when it is new. */
async function checkKeys(tx: Sql, box: SecretBox): Promise<void> {
  const rows = await listEncryptionKeys(tx);
  for (const row of rows.filter((candidate) => candidate.retired_at === null)) {
    if (!box.knowsKey(row.key_id)) throw wrongKey(row.key_id, box.currentKeyId());
    box.open(row.check_sealed, checkContext(row.key_id));
  }
  const current = rows.find((row) => row.key_id === box.currentKeyId());
  if (!current || current.retired_at !== null) await recordCurrentKey(tx, box);
}

export async function recordCurrentKey(tx: Sql, box: SecretBox): Promise<void> {
  const keyId = box.currentKeyId();
  await saveEncryptionKey(tx, keyId, box.seal("treadle", checkContext(keyId)));
}

function checkContext(keyId: string): string {
  return `encryption_keys:${keyId}`;
}
