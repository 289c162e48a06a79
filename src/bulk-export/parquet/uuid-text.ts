export const uuidTextBytes = 36;

const digits = Buffer.from("0123456789abcdef", "latin1");
const high = Buffer.from(Array.from({ length: 256 }, (_, byte) => digits[byte >> 4]!));
const low = Buffer.from(Array.from({ length: 256 }, (_, byte) => digits[byte & 15]!));
const dash = 0x2d;

/** Sixteen bytes as the usual text, without making a string of it. */
export function uuidText(source: Uint8Array, start: number, target: Uint8Array, at: number): void {
  let to = at;
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) target[to++] = dash;
    const byte = source[start + index]!;
    target[to++] = high[byte]!;
    target[to++] = low[byte]!;
  }
}
