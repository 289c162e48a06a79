/** Of a row's `trigrams`. English text of 2 KB sets about a third of them. */
export const signatureBits = 1_024;
export const signatureBytes = signatureBits / 8;

/** Longer texts would set nearly every bit, which excludes nothing. */
const maxSignedBytes = 65_536;

/**
 * Which groups of three bytes occur in these texts, one bit for each by its hash, letters folded to lower case.
 * A word can occur only where all its groups do: most rows a search looks at are passed over by these bits, without
 * reading their texts. Null: too long. Changing the hash makes every stored row unfindable.
 */
export function trigramsOf(texts: readonly Text[]): Buffer | null {
  if (!canTell(texts)) return null;
  const bits = Buffer.alloc(signatureBytes);
  addTrigrams(bits, texts);
  return bits;
}

type Text = Buffer | null;

export function canTell(texts: readonly Text[]): boolean {
  let size = 0;
  for (const text of texts) size += text?.byteLength ?? 0;
  return size <= maxSignedBytes;
}

export function addTrigrams(bits: Buffer, texts: readonly Text[]): void {
  for (const text of texts) if (text) addText(bits, text);
}

/** The bits a word needs, or null when it is too short to have any. Only for plain ASCII words. */
export function trigramsOfWord(word: string): Buffer | null {
  // JSON writes these two with a backslash before them, so they may not stand side by side with their neighbours.
  const runs = word.split(/["\\]/).filter((run) => run.length >= 3);
  return runs.length === 0 ? null : trigramsOf(runs.map((run) => Buffer.from(run)));
}

function addText(bits: Buffer, text: Buffer): void {
  const { length } = text;
  if (length < 3) return;
  let group = (lowerCase[text[0]!]! << 8) | lowerCase[text[1]!]!;
  for (let index = 2; index < length; index++) {
    group = ((group << 8) | lowerCase[text[index]!]!) & 0xffffff;
    const hash = Math.imul(group, 0x9e3779b1) >>> 22;
    bits[hash >>> 3]! |= 0x80 >>> (hash & 7);
  }
}

const lowerCase = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 0x41 && code <= 0x5a ? code + 0x20 : code,
);

/** As PostgreSQL reads a `bit` from a text. */
export function bitText(bits: Buffer | null): string | null {
  return bits === null ? null : `x${bits.toString("hex")}`;
}
