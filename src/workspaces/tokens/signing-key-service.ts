import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { isUuid, newId } from "../../platform/ids.ts";
import { signingKeyContext } from "./sealed-columns.ts";
import {
  findCurrentSigningKey,
  findSigningKey,
  insertSigningKey,
  lockSigningKeys,
  type SigningKeyRow,
} from "./signing-key-store.ts";

export const signingAlgorithm = "EdDSA";

type SigningKeysOptions = {
  database: Database;
  secretBox: SecretBox;
  clock: Clock;
};

/** The keys that sign tokens; the first process to need one makes it. */
export class SigningKeys {
  readonly #options: SigningKeysOptions;
  #signer: Promise<{ id: string; privateKey: CryptoKey }> | undefined;
  readonly #publicKeys = new Map<string, CryptoKey>();

  constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  current(): Promise<{ id: string; privateKey: CryptoKey }> {
    this.#signer ??= this.#loadSigner().catch((error: unknown) => {
      this.#signer = undefined;
      throw error;
    });
    return this.#signer;
  }

  async publicKey(id: string): Promise<CryptoKey | undefined> {
    const known = this.#publicKeys.get(id);
    if (known || !isUuid(id)) return known;
    const row = await findSigningKey(this.#options.database.sql, id);
    if (!row) return undefined;
    const key = (await importJWK(row.public_jwk, row.algorithm)) as CryptoKey;
    this.#publicKeys.set(id, key);
    return key;
  }

  async #loadSigner() {
    const { database, clock, secretBox } = this.#options;
    const row = await database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      const known = await findCurrentSigningKey(tx);
      if (known) return known;
      const made = await this.#generateRow();
      await insertSigningKey(tx, { ...made, now: clock.now() });
      return made;
    });
    const jwk = JSON.parse(secretBox.open(row.private_jwk_sealed, signingKeyContext(row.id))) as JWK;
    return { id: row.id, privateKey: (await importJWK(jwk, signingAlgorithm)) as CryptoKey };
  }

  async #generateRow(): Promise<SigningKeyRow> {
    const id = newId();
    const pair = await generateKeyPair(signingAlgorithm, { crv: "Ed25519", extractable: true });
    const privateJwk = JSON.stringify(await exportJWK(pair.privateKey));
    return {
      id,
      algorithm: signingAlgorithm,
      public_jwk: await exportJWK(pair.publicKey),
      private_jwk_sealed: this.#options.secretBox.seal(privateJwk, signingKeyContext(id)),
    };
  }
}
