import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scryptSync } from "node:crypto";
import { AppError } from "../errors.ts";

/** Text of 16 or more characters, or 32 random bytes. */
export type SecretKey = string | Uint8Array;

export type SecretKeys = {
  currentKey: SecretKey;
  /** Still open what they sealed; nothing new is sealed with them. */
  previousKeys?: readonly SecretKey[];
};

const version = "t1";
const ivBytes = 12;
const tagBytes = 16;
const sealedPattern = /^t1\.([0-9a-f]{16})\.([A-Za-z0-9_-]+)$/;

/**
 * Encrypts secrets at rest. `context` ties a sealed text to its place (for example `provider:<id>`): a text
 * moved elsewhere does not open.
 */
export class SecretBox {
  readonly #derived = new Map<SecretKey, Derived>();
  #ring: KeyRing;

  constructor(keys: SecretKeys) {
    this.#ring = this.#ringOf(keys);
  }

  currentKeyId(): string {
    return this.#ring.current.id;
  }

  knowsKey(keyId: string): boolean {
    return this.#ring.byId.has(keyId);
  }

  /** Replaces the keys, after a rotation in another process. */
  replaceKeys(next: SecretKeys): void {
    this.#ring = this.#ringOf(next);
  }

  seal(text: string, context = ""): string {
    const { id, key } = this.#ring.current;
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv("aes-256-gcm", key, iv);
    cipher.setAAD(additionalData(id, context));
    const body = Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${sealedPrefix(id)}${body.toString("base64url")}`;
  }

  open(sealed: string, context = ""): string {
    const parts = sealedPattern.exec(sealed);
    const body = Buffer.from(parts?.[2] ?? "", "base64url");
    if (!parts || body.length < ivBytes + tagBytes) throw damaged();
    const id = parts[1]!;
    const key = this.#ring.byId.get(id);
    if (!key) throw wrongKey(id, this.#ring.current.id);
    const decipher = createDecipheriv("aes-256-gcm", key, body.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(additionalData(id, context));
    decipher.setAuthTag(body.subarray(-tagBytes));
    try {
      const text = Buffer.concat([decipher.update(body.subarray(ivBytes, -tagBytes)), decipher.final()]);
      return text.toString("utf8");
    } catch (cause) {
      throw damaged(cause);
    }
  }

  #ringOf({ currentKey, previousKeys = [] }: SecretKeys): KeyRing {
    const current = this.#derive(currentKey);
    const all = [...previousKeys.map((secret) => this.#derive(secret)), current];
    return { current, byId: new Map(all.map(({ id, key }) => [id, key])) };
  }

  /** Deriving from text is slow on purpose, so each key is derived once. */
  #derive(secret: SecretKey): Derived {
    const known = this.#derived.get(secret) ?? deriveKey(secret);
    this.#derived.set(secret, known);
    return known;
  }
}

/** What every text sealed with this key starts with; lets SQL find the rows a rotation has left to do. */
export function sealedPrefix(keyId: string): string {
  return `${version}.${keyId}.`;
}

export function wrongKey(needed: string, held: string): AppError {
  return new AppError({
    code: "secret.wrong_key",
    kind: "internal",
    message:
      `This is not the encryption key of this database: it was encrypted with key ${needed}, and the key in use is ${held}. ` +
      "Nothing was changed. Start with the previous key (TREADLE_SECRET_KEY, or the file secret.key in the data folder).",
  });
}

function damaged(cause?: unknown): AppError {
  return new AppError({
    code: "secret.damaged",
    kind: "internal",
    message:
      "A stored secret cannot be decrypted: its text was changed, truncated or moved from another place. Enter the secret again.",
    cause,
  });
}

type Derived = { id: string; key: Buffer };
type KeyRing = { current: Derived; byId: ReadonlyMap<string, Buffer> };

/** The salts are fixed because the same key must give the same result in every process, before any database is read. */
function deriveKey(secret: SecretKey): Derived {
  if (secret.length < 16) {
    throw new AppError({
      code: "secret.short_key",
      kind: "invalid",
      message: "An encryption key must have 16 or more characters.",
    });
  }
  const master = typeof secret === "string" ? scryptSync(secret, "treadle secret box", 32) : secret;
  return {
    id: expand(master, "key id", 8).toString("hex"),
    key: expand(master, "aes-256-gcm", 32),
  };
}

function expand(master: Uint8Array, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", master, "treadle secret box", purpose, bytes));
}

function additionalData(keyId: string, context: string): Buffer {
  return Buffer.from(`${version}.${keyId}.${context}`, "utf8");
}
