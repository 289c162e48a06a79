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

export type DestinationService = {
  create(workspaceId: string, input: CreateDestination): Promise<Destination>;
  list(workspaceId: string): Promise<Destination[]>;
  get(workspaceId: string, id: string): Promise<Destination>;
  rotate(workspaceId: string, id: string, credentials: DestinationCredentials): Promise<Destination>;
  remove(workspaceId: string, id: string): Promise<void>;
  /** With the credentials opened, for whoever writes. */
  settingsOf(destination: Destination): BucketSettings;
};

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

export function createDestinationService(options: DestinationServiceOptions): DestinationService {
  const { database, clock, secretBox } = options;

  const check = (settings: BucketSettings, prefix: string) =>
    checkDestination({
      settings,
      prefix,
      network: options.network,
      logger: options.logger,
      timeoutMs: options.checkTimeoutMs,
    });
  const seal = (id: string, credentials: DestinationCredentials) =>
    secretBox.seal(JSON.stringify(credentials), destinationContext(id));
  const find = async (workspaceId: string, id: string) => {
    const found = await store.findDestination(database.sql, workspaceId, id);
    if (!found) throw destinationNotFound(id);
    return found;
  };

  return {
    async create(workspaceId, input) {
      const credentials = input.credentials ?? null;
      if (credentials === null && !options.ambientCredentials) {
        throw invalidField(["body", "credentials"], "Field required");
      }
      await check(bucketSettings(input.config, credentials), input.config.prefix);
      const id = newId();
      const row = {
        id,
        workspace_id: workspaceId,
        destination_type: input.destination_type,
        display_name: input.display_name,
        config: input.config,
        credentials_sealed: credentials === null ? null : seal(id, credentials),
        credentials_keys: credentialKeys(credentials),
      };
      return store.insertDestination(database.sql, row, clock.now());
    },

    list: (workspaceId) => store.listDestinations(database.sql, workspaceId),
    get: find,

    async rotate(workspaceId, id, credentials) {
      const { config } = await find(workspaceId, id);
      await check(bucketSettings(config, credentials), config.prefix);
      const saved = await store.saveCredentials(database.sql, {
        id,
        workspaceId,
        sealed: seal(id, credentials),
        keys: credentialKeys(credentials),
        now: clock.now(),
      });
      if (!saved) throw destinationNotFound(id);
      return saved;
    },

    remove: (workspaceId, id) =>
      database.transaction(async (tx) => {
        const used = await store.countExportsOf(tx, workspaceId, id);
        if (!used) throw destinationNotFound(id);
        if (used.exports > 0) throw destinationUsed(id, used.exports);
        await store.deleteDestination(tx, workspaceId, id);
      }),

    settingsOf(destination) {
      const sealed = destination.credentials_sealed;
      const credentials =
        sealed === null
          ? null
          : (JSON.parse(
              secretBox.open(sealed, destinationContext(destination.id)),
            ) as DestinationCredentials);
      return bucketSettings(destination.config, credentials);
    },
  };
}

function destinationUsed(id: string, count: number): AppError {
  return new AppError({
    code: "bulk_export.destination_used",
    kind: "conflict",
    message: `Bulk export destination ${id} cannot be deleted: ${count} ${count === 1 ? "export uses" : "exports use"} it.`,
  });
}
