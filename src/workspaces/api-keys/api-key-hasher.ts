import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { newSecret } from "../../platform/ids.ts";
import { keepInstallSecret } from "../installation/install-secret-store.ts";
import { installSecretContext } from "../installation/sealed-columns.ts";
import { hashApiKey } from "./api-key.ts";

export type ApiKeyHasher = { hash(key: string): Promise<string> };

const pepperName = "api_key_pepper";

export function createApiKeyHasher(options: { database: Database; secretBox: SecretBox }): ApiKeyHasher {
  const { database, secretBox } = options;
  let pepper: Promise<string> | undefined;

  async function loadPepper(): Promise<string> {
    const context = installSecretContext(pepperName);
    const sealed = await keepInstallSecret(database.sql, pepperName, secretBox.seal(newSecret(), context));
    return secretBox.open(sealed, context);
  }

  return {
    async hash(key) {
      pepper ??= loadPepper().catch((error: unknown) => {
        pepper = undefined;
        throw error;
      });
      return hashApiKey(await pepper, key);
    },
  };
}
