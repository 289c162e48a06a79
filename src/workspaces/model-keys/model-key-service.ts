import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { hintOf, type ModelKey, type ModelProvider, modelKeyNotFound, unknownProvider } from "./model-key.ts";
import { deleteModelKey, findSealedKey, listModelKeys, saveModelKey } from "./model-key-store.ts";
import { modelKeyContext } from "./sealed-columns.ts";

type ModelKeysOptions = {
  database: Database;
  secretBox: SecretBox;
  clock: Clock;
  /** Those that the built-in agents know. */
  providers: readonly ModelProvider[];
};

export type ModelKeyEntry = ModelProvider & { key: ModelKey | null };

/** The keys of model providers that a workspace keeps, for the built-in agents of that workspace alone. */
export class ModelKeys {
  readonly #options: ModelKeysOptions;

  constructor(options: ModelKeysOptions) {
    this.#options = options;
  }

  async list({ workspaceId }: Pick<Caller, "workspaceId">): Promise<ModelKeyEntry[]> {
    const stored = await listModelKeys(this.#options.database.sql, workspaceId);
    return this.#options.providers.map((each) => ({
      ...each,
      key: stored.find(({ provider }) => provider === each.provider) ?? null,
    }));
  }

  async set({ workspaceId, userId }: Caller, provider: string, key: string): Promise<ModelKeyEntry> {
    const { database, secretBox, clock } = this.#options;
    this.#known(provider);
    const sealed = secretBox.seal(key, modelKeyContext(workspaceId, provider));
    await saveModelKey(database.sql, {
      ...{ workspaceId, provider, sealed, userId },
      hint: hintOf(key),
      now: clock.now(),
    });
    return (await this.list({ workspaceId })).find((each) => each.provider === provider)!;
  }

  async remove({ workspaceId }: Caller, provider: string): Promise<void> {
    this.#known(provider);
    if (!(await deleteModelKey(this.#options.database.sql, workspaceId, provider)))
      throw modelKeyNotFound(provider);
  }

  /** The key itself, only for a run of this workspace. */
  async find(workspaceId: string, provider: string): Promise<string | undefined> {
    const { database, secretBox } = this.#options;
    const sealed = await findSealedKey(database.sql, workspaceId, provider);
    return sealed === null ? undefined : secretBox.open(sealed, modelKeyContext(workspaceId, provider));
  }

  #known(provider: string): void {
    const { providers } = this.#options;
    if (!providers.some((each) => each.provider === provider)) throw unknownProvider(provider, providers);
  }
}
