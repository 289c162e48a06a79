import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { BucketSink } from "../../platform/blob/blob-store.ts";
import { BlockMemory } from "../parquet/block-memory.ts";
import { FileUpload } from "./file-upload.ts";

type Part = { body: Buffer; asGiven: Buffer; stored: () => void };

/** Keeps what it is given, and answers only when the test lets it. */
function slowStore() {
  const parts: Part[] = [];
  const puts: Buffer[] = [];
  const size = () => [...parts.map(({ body }) => body), ...puts].reduce((sum, one) => sum + one.length, 0);
  const store: BucketSink = {
    put: async (_key, body) => void puts.push(Buffer.from(body)),
    abortUploads: async () => 0,
    beginUpload: async () => ({
      addPart: async (body, stored) => {
        parts.push({ body, asGiven: Buffer.from(body), stored: stored ?? (() => {}) });
      },
      complete: async () => {},
      abort: async () => {},
    }),
    head: async () => ({ bytes: size(), metadata: {} }),
    remove: async () => {},
    close: () => {},
  };
  return { store, parts, puts };
}

const partBytes = 1_000;

test("parts are whole blocks but for the last, and together what was written", async () => {
  const { store, parts } = slowStore();
  const upload = new FileUpload(store, "a", new BlockMemory(partBytes, 5));
  const written = [1, 999, 1, 2_500, 1_700, 3].map((size) => randomBytes(size));
  for (const bytes of written) await upload.write(bytes);
  await upload.publish();
  expect(parts.map(({ body }) => body.length)).toEqual([1_000, 1_000, 1_000, 1_000, 1_000, 204]);
  expect(Buffer.concat(parts.map(({ body }) => body))).toEqual(Buffer.concat(written));
});

test("the memory of a part is not touched before the storage has it, and used again then", async () => {
  const { store, parts } = slowStore();
  const memory = new BlockMemory(partBytes, 5);
  const upload = new FileUpload(store, "a", memory);
  for (let count = 0; count < 3; count++) await upload.write(randomBytes(partBytes));
  expect(new Set(parts.map(({ body }) => body.buffer)).size).toBe(3);
  for (const { body, asGiven } of parts) expect(body).toEqual(asGiven);

  parts[1]!.stored();
  await upload.write(randomBytes(partBytes));
  expect(parts[3]!.body.buffer).toBe(parts[1]!.body.buffer);
  await upload.write(randomBytes(partBytes));
  expect(new Set(parts.map(({ body }) => body.buffer)).size).toBe(4);
  for (const index of [0, 2, 3, 4]) expect(parts[index]!.body).toEqual(parts[index]!.asGiven);
});

test("a small file is put whole, and its memory serves the next one", async () => {
  const { store, parts, puts } = slowStore();
  const memory = new BlockMemory(partBytes, 5);
  const bytes = randomBytes(400);
  const upload = new FileUpload(store, "a", memory);
  await upload.write(bytes);
  await upload.publish();
  expect(puts).toEqual([bytes]);
  expect(parts).toEqual([]);
  const [first, second] = [memory.take(), memory.take()];
  expect(first.subarray(0, 400)).toEqual(bytes);
  expect(second.buffer).not.toBe(first.buffer);
});
