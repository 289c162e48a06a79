import { randomUUID } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../db/raw.ts";
import { createLogger } from "../logger.ts";
import { type OpenSecretBox, openSecretBox } from "./encryption-keys.ts";
import { rotateEncryption, type SealedColumn } from "./encryption-rotation.ts";
import { readKeyFile, secretKeyPath } from "./secret-key-file.ts";

const logger = createLogger({ level: "silent" });
const columns: SealedColumn[] = [
  { table: "install_secrets", idColumns: ["name"], column: "value_sealed", context: (id) => `test:${id}` },
];
let testDatabase: TestDatabase;
let folder: TempFolder;
const opened: OpenSecretBox[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = await createTempFolder("encryption-keys");
});
afterAll(async () => {
  await testDatabase.drop();
  await folder.remove();
});
afterEach(async () => {
  for (const box of opened.splice(0)) await box.stop();
  await raw`delete from encryption_keys`.execute(testDatabase.database.sql);
  await raw`delete from install_secrets`.execute(testDatabase.database.sql);
});

async function open(dataDir: string, secretKey?: string, previousSecretKey?: string) {
  const box = await openSecretBox({
    database: testDatabase.database,
    logger,
    dataDir,
    secretKey,
    previousSecretKey,
  });
  opened.push(box);
  return box.secretBox;
}

function freshDataDir(): string {
  return join(folder.path, randomUUID());
}

async function storeSecrets(box: { seal(text: string, context: string): string }, count: number) {
  for (let index = 0; index < count; index += 1) {
    const name = `secret-${String(index).padStart(3, "0")}`;
    await raw`insert into install_secrets (name, value_sealed)
      values (${name}, ${box.seal(`value ${index}`, `test:${name}`)})`.execute(testDatabase.database.sql);
  }
}

async function readSecrets(box: { open(sealed: string, context: string): string }) {
  const { rows } = await raw<{ name: string; value_sealed: string }>`
    select name, value_sealed from install_secrets order by name`.execute(testDatabase.database.sql);
  return rows.map((row) => box.open(row.value_sealed, `test:${row.name}`));
}

async function keyRows() {
  const { rows } = await raw<{ key_id: string; retired: boolean }>`
    select key_id, retired_at is not null as retired from encryption_keys order by created_at`.execute(
    testDatabase.database.sql,
  );
  return rows;
}

test("a first start makes a key, the next one uses it", async () => {
  const dataDir = freshDataDir();
  const sealed = (await open(dataDir)).seal("secret");
  expect((await open(dataDir)).open(sealed)).toBe("secret");
  expect(await keyRows()).toHaveLength(1);
});

test("processes that start at once share one key", async () => {
  const dataDir = freshDataDir();
  const boxes = await Promise.all([open(dataDir), open(dataDir), open(dataDir)]);
  expect(new Set(boxes.map((box) => box.currentKeyId())).size).toBe(1);
});

test("a lost key file ends the start and no other key is made", async () => {
  await open(freshDataDir());
  const other = freshDataDir();
  await expect(open(other)).rejects.toMatchObject({ code: "secret.wrong_key" });
  await expect(access(secretKeyPath(other))).rejects.toMatchObject({ code: "ENOENT" });
});

test("a wrong TREADLE_SECRET_KEY ends the start and changes nothing", async () => {
  const box = await open(freshDataDir(), "the operator's first key");
  const before = await keyRows();
  await expect(open(freshDataDir(), "some other key entirely")).rejects.toMatchObject({
    code: "secret.wrong_key",
    message: expect.stringContaining(box.currentKeyId()),
  });
  expect(await keyRows()).toEqual(before);
});

test("moving from the key file to TREADLE_SECRET_KEY keeps old secrets readable", async () => {
  const dataDir = freshDataDir();
  const sealed = (await open(dataDir)).seal("secret");
  const box = await open(dataDir, "the operator's first key");
  expect(box.open(sealed)).toBe("secret");
});

test("a rotation of the key file re-seals in batches and reaches running processes", async () => {
  const dataDir = freshDataDir();
  const running = await open(dataDir);
  const oldId = running.currentKeyId();
  await storeSecrets(running, 7);
  const expected = await readSecrets(running);

  const result = await rotateEncryption({
    database: testDatabase.database,
    dataDir,
    secretKey: undefined,
    columns,
    batchSize: 3,
  });
  expect(result).toMatchObject({ resealed: 7, unreadable: [], retired: [oldId] });
  await waitUntil(() => running.currentKeyId() === result.keyId, { what: "the new key", timeoutMs: 10_000 });
  expect(await readSecrets(running)).toEqual(expected);
  expect(await readSecrets(await open(dataDir))).toEqual(expected);

  const again = await rotateEncryption({
    database: testDatabase.database,
    dataDir,
    secretKey: undefined,
    columns,
  });
  expect(again).toMatchObject({ resealed: 7, retired: [result.keyId] });
  expect((await readKeyFile(secretKeyPath(dataDir)))?.previous).toHaveLength(1);
  expect(await readSecrets(await open(dataDir))).toEqual(expected);
});

test("a rotation that was cut short goes on with the same key", async () => {
  const dataDir = freshDataDir();
  const first = await open(dataDir, "the operator's first key");
  await storeSecrets(first, 4);
  const second = await open(dataDir, "the operator's second key", "the operator's first key");
  await raw`update install_secrets set value_sealed = ${second.seal("value 0", "test:secret-000")}
    where name = 'secret-000'`.execute(testDatabase.database.sql);

  const settings = {
    dataDir,
    secretKey: "the operator's second key",
    previousSecretKey: "the operator's first key",
  };
  const result = await rotateEncryption({ database: testDatabase.database, columns, ...settings });
  expect(result).toMatchObject({
    keyId: second.currentKeyId(),
    resealed: 3,
    retired: [first.currentKeyId()],
  });
  expect(await readSecrets(await open(freshDataDir(), "the operator's second key"))).toHaveLength(4);
});

test("a row no key opens is reported, the rest is re-sealed, and the old key stays", async () => {
  const dataDir = freshDataDir();
  const box = await open(dataDir);
  await storeSecrets(box, 3);
  await raw`update install_secrets set value_sealed = ${box.seal("moved", "test:elsewhere")}
    where name = 'secret-001'`.execute(testDatabase.database.sql);
  const result = await rotateEncryption({
    database: testDatabase.database,
    dataDir,
    secretKey: undefined,
    columns,
    batchSize: 1,
  });
  expect(result.resealed).toBe(2);
  expect(result.unreadable).toMatchObject([{ table: "install_secrets", id: "secret-001" }]);
  expect(result.retired).toEqual([]);
  expect((await keyRows()).every((row) => !row.retired)).toBe(true);
});

test("a table with a key of several columns is re-sealed in batches", async () => {
  const dataDir = freshDataDir();
  const box = await open(dataDir);
  const workspaceId = randomUUID();
  const context = (id: string, operation: string, key: string) => `${id}/${operation}/${key}`;
  for (const key of ["a", "b", "c", "d", "e"]) {
    await raw`insert into idempotency_keys
      (workspace_id, operation, key, request_hash, claim_id, claimed_until, expires_at, answer)
      values (${workspaceId}, 'make', ${key}, '', ${randomUUID()}, now(), now(),
        ${box.seal(key, context(workspaceId, "make", key))})`.execute(testDatabase.database.sql);
  }
  const result = await rotateEncryption({
    database: testDatabase.database,
    dataDir,
    secretKey: undefined,
    columns: [
      {
        table: "idempotency_keys",
        idColumns: ["workspace_id", "operation", "key"],
        column: "answer",
        context,
      },
    ],
    batchSize: 2,
  });
  expect(result).toMatchObject({ resealed: 5, unreadable: [] });
  const fresh = await open(dataDir);
  const { rows } = await raw<{ key: string; answer: string }>`
    select key, answer from idempotency_keys order by key`.execute(testDatabase.database.sql);
  expect(rows.map((row) => fresh.open(row.answer, context(workspaceId, "make", row.key)))).toEqual(
    rows.map((row) => row.key),
  );
  for (const row of rows) expect(row.answer.startsWith(`t1.${result.keyId}.`)).toBe(true);
});

test("a rotation without the key in use is refused", async () => {
  await open(freshDataDir(), "the operator's first key");
  await expect(
    rotateEncryption({
      database: testDatabase.database,
      dataDir: freshDataDir(),
      secretKey: "the operator's second key",
      columns,
    }),
  ).rejects.toMatchObject({ code: "secret.wrong_key" });
});
