import { ByteBuffer } from "./byte-buffer.ts";

const tableBits = 14;
const maxCopy = 64;
const blockBytes = 65_536;

/**
 * The raw Snappy format, as Parquet wants it. Node has no Snappy of its own, and an encoder is small: matches
 * of four and more bytes are found through a hash table, block by block so that offsets fit two bytes.
 */
export function snappyCompress(input: Buffer): Buffer {
  const out = new ByteBuffer(Math.max(64, Math.ceil(input.length * 0.6)));
  out.varint(input.length);
  const table = new Int32Array(1 << tableBits);
  for (let start = 0; start < input.length; start += blockBytes) {
    compressBlock(input, start, Math.min(start + blockBytes, input.length), table.fill(-1), out);
  }
  return out.view();
}

function compressBlock(input: Buffer, start: number, end: number, table: Int32Array, out: ByteBuffer): void {
  let literalStart = start;
  let position = start;
  const last = end - 4;
  // The longer nothing matches, the larger the steps: random data is passed over quickly.
  let misses = 32;
  while (position <= last) {
    const word = readWord(input, position);
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - tableBits);
    const candidate = table[slot]!;
    table[slot] = position;
    if (candidate < 0 || readWord(input, candidate) !== word) {
      position += misses++ >>> 5;
      continue;
    }
    misses = 32;
    emitLiteral(input, literalStart, position, out);
    let length = 4;
    while (position + length < end && input[candidate + length] === input[position + length]) length++;
    emitCopies(position - candidate, length, out);
    position += length;
    literalStart = position;
  }
  emitLiteral(input, literalStart, end, out);
}

function readWord(input: Buffer, at: number): number {
  return input[at]! | (input[at + 1]! << 8) | (input[at + 2]! << 16) | (input[at + 3]! << 24);
}

function emitLiteral(input: Buffer, start: number, end: number, out: ByteBuffer): void {
  const length = end - start;
  if (length === 0) return;
  if (length <= 60) out.byte((length - 1) << 2);
  else if (length <= 256) {
    out.byte(60 << 2);
    out.byte(length - 1);
  } else {
    out.byte(61 << 2);
    out.byte((length - 1) & 0xff);
    out.byte((length - 1) >>> 8);
  }
  out.bytes(input, start, end);
}

function emitCopies(offset: number, length: number, out: ByteBuffer): void {
  for (let rest = length; rest > 0; ) {
    const size = Math.min(rest, maxCopy);
    out.byte(((size - 1) << 2) | 2);
    out.byte(offset & 0xff);
    out.byte(offset >>> 8);
    rest -= size;
  }
}
