import type { BucketSettings } from "../../platform/blob/blob-store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import {
  bucketSettings,
  credentialKeys,
  type Destination,
  type DestinationCredentials,
  destinationContext,
  destinationNotFound,
} from "./destination.ts";
import { checkDestination } from "./destination-check.ts";
import type { CreateDestination } from "./destination-schemas.ts";
import * as store from "./destination-store.ts";

export type DestinationServiceOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  network: NetworkGuard;
  /** The machine's own credentials may be used; never where the machine is not the caller's. */
  ambientCredentials: boolean;
  checkTimeoutMs: number;
};

/** Where exports are written; a destination is tried out before it is stored. */
export class DestinationService {
  readonly #options: DestinationServiceOptions;

  constructor(options: DestinationServiceOptions) {
    this.#options = options;
  }

  async create(workspaceId: string, input: CreateDestination): Promise<Destination> {
    const { database, clock } = this.#options;
    const credentials = input.credentials ?? null;
    if (credentials === null && !this.#options.ambientCredentials) {
      throw invalidField(["body", "credentials"], "Field required");
    }
    await this.#check(bucketSettings(input.config, credentials), input.config.prefix);
    const id = newId();
    const row = {
      id,
      workspace_id: workspaceId,
      destination_type: input.destination_type,
      display_name: input.display_name,
      config: input.config,
      credentials_sealed: credentials === null ? null : this.#seal(id, credentials),
      credentials_keys: credentialKeys(credentials),
    };
    return store.insertDestination(database.sql, row, clock.now());
  }

  list(workspaceId: string): Promise<Destination[]> {
    return store.listDestinations(this.#options.database.sql, workspaceId);
  }

  async get(workspaceId: string, id: string): Promise<Destination> {
    const found = await store.findDestination(this.#options.database.sql, workspaceId, id);
    if (!found) throw destinationNotFound(id);
    return found;
  }

  async rotate(workspaceId: string, id: string, credentials: DestinationCredentials): Promise<Destination> {
    const { database, clock } = this.#options;
    const { config } = await this.get(workspaceId, id);
    await this.#check(bucketSettings(config, credentials), config.prefix);
    const saved = await store.saveCredentials(database.sql, {
      id,
      workspaceId,
      sealed: this.#seal(id, credentials),
      keys: credentialKeys(credentials),
      now: clock.now(),
    });
    if (!saved) throw destinationNotFound(id);
    return saved;
  }

  remove(workspaceId: string, id: string): Promise<void> {
    return this.#options.database.transaction(async (tx) => {
      const used = await store.countExportsOf(tx, workspaceId, id);
      if (!used) throw destinationNotFound(id);
      if (used.exports > 0) throw destinationUsed(id, used.exports);
      await store.deleteDestination(tx, workspaceId, id);
    });
  }

  /** With decrypted credentials, for the writer. */
  settingsOf(destination: Destination): BucketSettings {
    const sealed = destination.credentials_sealed;
    const credentials =
      sealed === null
        ? null
        : (JSON.parse(
            this.#options.secretBox.open(sealed, destinationContext(destination.id)),
          ) as DestinationCredentials);
    return bucketSettings(destination.config, credentials);
  }

  /** Whether we can write there now; throws what is wrong. */
  tryOut(destination: Destination): Promise<void> {
    return this.#check(this.settingsOf(destination), destination.config.prefix);
  }

  #check(settings: BucketSettings, prefix: string) {
    return checkDestination({
      settings,
      prefix,
      network: this.#options.network,
      logger: this.#options.logger,
      timeoutMs: this.#options.checkTimeoutMs,
    });
  }

  #seal(id: string, credentials: DestinationCredentials) {
    return this.#options.secretBox.seal(JSON.stringify(credentials), destinationContext(id));
  }
}

function destinationUsed(id: string, count: number): AppError {
  return new AppError({
    code: "bulk_export.destination_used",
    kind: "conflict",
    message: `Bulk export destination ${id} cannot be deleted: ${count} ${count === 1 ? "export uses" : "exports use"} it.`,
  });
}
