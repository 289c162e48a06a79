import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { isUuid, newId } from "../../platform/ids.ts";
import { signingKeyContext } from "../installation/sealed-columns.ts";
import {
  findCurrentSigningKey,
  findSigningKey,
  insertSigningKey,
  lockSigningKeys,
  type SigningKeyRow,
} from "./signing-key-store.ts";

export const signingAlgorithm = "EdDSA";

export type SigningKeys = {
  current(): Promise<{ id: string; privateKey: CryptoKey }>;
  publicKey(id: string): Promise<CryptoKey | undefined>;
};

export function createSigningKeys(options: {
  database: Database;
  secretBox: SecretBox;
  clock: Clock;
}): SigningKeys {
  const { database, secretBox, clock } = options;
  let signer: Promise<{ id: string; privateKey: CryptoKey }> | undefined;
  const publicKeys = new Map<string, CryptoKey>();

  async function loadSigner() {
    const row = await database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      const known = await findCurrentSigningKey(tx);
      if (known) return known;
      const made = await generateRow();
      await insertSigningKey(tx, { ...made, now: clock.now() });
      return made;
    });
    const jwk = JSON.parse(secretBox.open(row.private_jwk_sealed, signingKeyContext(row.id))) as JWK;
    return { id: row.id, privateKey: (await importJWK(jwk, signingAlgorithm)) as CryptoKey };
  }

  async function generateRow(): Promise<SigningKeyRow> {
    const id = newId();
    const pair = await generateKeyPair(signingAlgorithm, { crv: "Ed25519", extractable: true });
    const privateJwk = JSON.stringify(await exportJWK(pair.privateKey));
    return {
      id,
      algorithm: signingAlgorithm,
      public_jwk: await exportJWK(pair.publicKey),
      private_jwk_sealed: secretBox.seal(privateJwk, signingKeyContext(id)),
    };
  }

  return {
    current() {
      signer ??= loadSigner().catch((error: unknown) => {
        signer = undefined;
        throw error;
      });
      return signer;
    },
    async publicKey(id) {
      const known = publicKeys.get(id);
      if (known || !isUuid(id)) return known;
      const row = await findSigningKey(database.sql, id);
      if (!row) return undefined;
      const key = (await importJWK(row.public_jwk, row.algorithm)) as CryptoKey;
      publicKeys.set(id, key);
      return key;
    },
  };
}
