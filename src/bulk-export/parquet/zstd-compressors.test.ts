import { createHash, randomBytes } from "node:crypto";
import { zstdDecompressSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { ZstdCompressors } from "./zstd-compressors.ts";

const open: ZstdCompressors[] = [];
const create = () => {
  const compressors = new ZstdCompressors(2);
  open.push(compressors);
  return compressors;
};
afterEach(() => {
  for (const compressors of open.splice(0)) compressors.close();
});

test("every page is a whole frame that holds its size, many at once and one after another", async () => {
  const compressors = create();
  const text = (seed: number) => createHash("sha256").update(`${seed}`).digest("hex");
  const pages = [
    Buffer.from(""),
    Buffer.from("x"),
    // More than the output holds at once, and nothing to be saved.
    randomBytes(5_000_000),
    ...Array.from({ length: 40 }, (_, index) => Buffer.from(text(index).repeat(1 + index * 400))),
  ];
  for (let round = 0; round < 2; round++) {
    const frames = await Promise.all(
      pages.map(async (page) => Buffer.from(await compressors.compress(page))),
    );
    for (const [index, frame] of frames.entries()) {
      expect(zstdDecompressSync(frame).equals(pages[index]!)).toBe(true);
    }
    // The upper bits of the byte after the signature encode how the size is written; none: not at all.
    expect(frames.at(-1)![4]! >> 5).toBeGreaterThan(0);
  }
});

test("what is under way when they are closed fails", async () => {
  const compressors = create();
  const pages = Promise.allSettled(
    // More than there are compressors: some wait.
    Array.from({ length: 9 }, () => compressors.compress(randomBytes(2_000_000))),
  );
  compressors.close();
  expect((await pages).map(({ status }) => status)).toEqual(Array(9).fill("rejected"));
  await expect(compressors.compress(Buffer.from("x"))).rejects.toThrow("closed");
});
