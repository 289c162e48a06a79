import { type RawBuilder, raw } from "./raw.ts";
import { signatureBits, trigramsOfWord } from "./trigrams.ts";

/** The bits of all these words; null when they have none. */
export function neededTrigrams(tokens: readonly string[]): Buffer | null {
  const plain = tokens.filter((token) => /^[ -~]+$/.test(token));
  const bits = plain.map(trigramsOfWord).filter((each) => each !== null);
  if (bits.length === 0) return null;
  const needed = Buffer.alloc(bits[0]!.byteLength);
  for (const each of bits) for (const [index, byte] of each.entries()) needed[index]! |= byte;
  return needed;
}

const quickBits = 6;

/** Numbered from the highest bit of the first byte, as PostgreSQL does. */
function setBits(bits: Buffer): number[] {
  const numbers: number[] = [];
  for (const [index, byte] of bits.entries())
    for (let bit = 0; bit < 8; bit++) if (byte & (0x80 >> bit)) numbers.push(index * 8 + bit);
  return numbers;
}

/** Whether a row may hold what has these bits: one whose bits are not known may. */
export function mayHoldTrigrams(needed: Buffer, column: RawBuilder<unknown>): RawBuilder<unknown> {
  const mask = raw`${`x${needed.toString("hex")}`}::bit(${raw.raw(String(signatureBits))})`;
  // Testing one bit costs a fraction of testing all, and most rows lack one of the first few.
  const first = setBits(needed)
    .slice(0, quickBits)
    .map((bit) => raw`get_bit(${column}, ${raw.raw(String(bit))}) = 1`);
  return raw`(${column} is null or (${raw.join([...first, raw`${column} & ${mask} = ${mask}`], raw` and `)}))`;
}
