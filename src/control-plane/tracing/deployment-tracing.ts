import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { errorMessage } from "../../platform/errors.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import type { Logger } from "../../platform/logger.ts";
import { tracingKeyContext } from "../encryption/sealed-columns.ts";
import { findTracingKey, listTracingKeysInUse, saveTracingKey } from "./tracing-key-store.ts";

/** What tracing needs of the rest of the platform. */
export type TracingPort = {
  /** Where servers on this machine send their traces. */
  endpoint(): string;
  /** A key that may write traces of this project until then, and nothing else; null where the workspace is gone. */
  issueKey(
    workspaceId: string,
    wanted: { name: string; project: string; expiresAt: Date },
  ): Promise<{ id: string; key: string } | null>;
  /** Whether a key made earlier still opens the workspace. */
  isKeyUsable(keyId: string, workspaceId: string): Promise<boolean>;
  /** Ends the keys issued before then that are not named. */
  endKeys(inUse: readonly string[], before: Date): Promise<number>;
  /** Calls back when a key may have been revoked. */
  watchKeys(onChange: () => void): Promise<Unlisten>;
  /** The id of the project of this name, made where it is new. */
  ensureProject(workspaceId: string, name: string): Promise<string>;
  removeProject(workspaceId: string, name: string): Promise<void>;
};

export type TraceTarget = { endpoint: string; apiKey: string; keyId: string };

/** A deployment traces into the project of its name. */
export type Traced = { id: string; workspace_id: string; name: string };

export type DeploymentTracing = {
  /** Where a deployment's traces go and with which key; null leaves a server untraced. */
  target(deployment: Traced): Promise<TraceTarget | null>;
  /**
   * The key its servers should send with now. A new one is made if the last one was revoked or is too old. Null if that
   * is not known.
   */
  currentKeyId(deployment: Traced): Promise<string | null>;
  /** Ends keys that no server sends with any more. */
  endUnusedKeys(): Promise<void>;
  /** Calls back when keys may be others than before. */
  watchKeys(onChange: () => void): Promise<Unlisten>;
  /** Null where there is no tracing. */
  ensureProject(workspaceId: string, name: string): Promise<string | null>;
  removeProject(workspaceId: string, name: string): Promise<void>;
};

export type DeploymentTracingOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  port: TracingPort | undefined;
};

const dayMs = 24 * 60 * 60_000;
/** A leaked key does not work after that. */
const keyLifeMs = 30 * dayMs;
/** Servers are replaced while the key they were started with still works. */
const renewAfterMs = 20 * dayMs;
/** A key is issued a moment before it is written down which server sends with it. */
const settleMs = 10 * 60_000;

/** Where there is no tracing. */
const untraced: DeploymentTracing = {
  target: async () => null,
  currentKeyId: async () => null,
  async endUnusedKeys() {},
  watchKeys: async () => async () => {},
  ensureProject: async () => null,
  async removeProject() {},
};

export function createDeploymentTracing({ port, ...ground }: DeploymentTracingOptions): DeploymentTracing {
  return port ? new KeyedTracing({ ...ground, port }) : untraced;
}

/**
 * One key per deployment: a service that writes traces of that deployment's project and does nothing else. Nothing here
 * may stop a deployment.
 */
class KeyedTracing implements DeploymentTracing {
  readonly #options: DeploymentTracingOptions & { port: TracingPort };
  readonly #lock = new KeyedLock();

  constructor(options: DeploymentTracingOptions & { port: TracingPort }) {
    this.#options = options;
  }

  async target(deployment: Traced): Promise<TraceTarget | null> {
    const { port, logger } = this.#options;
    try {
      const found = await this.#lock.run(deployment.id, () => this.#keyOf(deployment));
      return found && { endpoint: port.endpoint(), apiKey: found.key, keyId: found.id };
    } catch (error) {
      logger.warn(
        { deployment: deployment.id, reason: errorMessage(error) },
        "a deployment starts untraced: its tracing key could not be read or created",
      );
      return null;
    }
  }

  async currentKeyId(deployment: Traced): Promise<string | null> {
    try {
      return (await this.#lock.run(deployment.id, () => this.#keyOf(deployment)))?.id ?? null;
    } catch (error) {
      this.#options.logger.warn(
        { deployment: deployment.id, reason: errorMessage(error) },
        "the tracing key of a deployment could not be checked, trying again",
      );
      return null;
    }
  }

  async endUnusedKeys(): Promise<void> {
    const { port, database, clock, logger } = this.#options;
    const ended = await port.endKeys(
      await listTracingKeysInUse(database.sql),
      new Date(clock.now().getTime() - settleMs),
    );
    if (ended > 0) logger.info({ keys: ended }, "tracing keys that no server uses any more were revoked");
  }

  watchKeys(onChange: () => void): Promise<Unlisten> {
    return this.#options.port.watchKeys(onChange);
  }

  async ensureProject(workspaceId: string, name: string): Promise<string | null> {
    try {
      return await this.#options.port.ensureProject(workspaceId, name);
    } catch (error) {
      this.#options.logger.warn(
        { workspace: workspaceId, project: name, reason: errorMessage(error) },
        "the tracing project of a deployment could not be created yet; its first trace creates it",
      );
      return null;
    }
  }

  removeProject(workspaceId: string, name: string): Promise<void> {
    return this.#options.port.removeProject(workspaceId, name);
  }

  async #keyOf(deployment: Traced): Promise<{ id: string; key: string } | null> {
    const { database, clock, secretBox, port } = this.#options;
    const { id, workspace_id: workspaceId, name: project } = deployment;
    const now = clock.now();
    const known = await findTracingKey(database.sql, id);
    // A user may have revoked it, or renamed the deployment.
    if (
      known?.project === project &&
      known.renew_at > now &&
      (await port.isKeyUsable(known.api_key_id, workspaceId))
    ) {
      return { id: known.api_key_id, key: secretBox.open(known.key_sealed, tracingKeyContext(id)) };
    }
    const issued = await port.issueKey(workspaceId, {
      name: `Traces of ${project}`,
      project,
      expiresAt: new Date(now.getTime() + keyLifeMs),
    });
    if (!issued) return null;
    const key_sealed = secretBox.seal(issued.key, tracingKeyContext(id));
    const renew_at = new Date(now.getTime() + renewAfterMs);
    await saveTracingKey(database.sql, id, { api_key_id: issued.id, project, key_sealed, renew_at }, now);
    return issued;
  }
}
