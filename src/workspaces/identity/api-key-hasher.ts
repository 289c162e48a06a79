import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { newSecret } from "../../platform/ids.ts";
import { hashApiKey } from "./api-key.ts";
import { keepInstallSecret } from "./install-secret-store.ts";
import { installSecretContext } from "./sealed-columns.ts";

const pepperName = "api_key_pepper";

type ApiKeyHasherOptions = { database: Database; secretBox: SecretBox };

/** Hashes keys with a secret of the installation, so that a copy of the table alone proves no key. */
export class ApiKeyHasher {
  readonly #options: ApiKeyHasherOptions;
  #pepper: Promise<string> | undefined;

  constructor(options: ApiKeyHasherOptions) {
    this.#options = options;
  }

  async hash(key: string): Promise<string> {
    this.#pepper ??= this.#loadPepper().catch((error: unknown) => {
      this.#pepper = undefined;
      throw error;
    });
    return hashApiKey(await this.#pepper, key);
  }

  async #loadPepper(): Promise<string> {
    const { database, secretBox } = this.#options;
    const context = installSecretContext(pepperName);
    const sealed = await keepInstallSecret(database.sql, pepperName, secretBox.seal(newSecret(), context));
    return secretBox.open(sealed, context);
  }
}
