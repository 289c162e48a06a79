import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import type { Logger } from "../../platform/logger.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { tracingKeyContext } from "../sealed-columns.ts";
import { findTracingKey, saveTracingKey } from "./tracing-key-store.ts";

/** What tracing needs of the rest of the platform. */
export type TracingPort = {
  /** Where servers on this machine send their traces. */
  endpoint(): string;
  /** A key that may write traces in this workspace and no more; null where nobody could own it. */
  issueKey(workspaceId: string): Promise<{ id: string; key: string } | null>;
  /** Whether a key made earlier still opens the workspace. */
  isKeyUsable(keyId: string, workspaceId: string): Promise<boolean>;
  /** Calls back when a key may have been revoked. */
  watchKeys(onChange: () => void): Promise<Unlisten>;
  /** The id of the project of this name, made where it is new. */
  ensureProject(workspaceId: string, name: string): Promise<string>;
  removeProject(workspaceId: string, name: string): Promise<void>;
};

export type TraceTarget = { endpoint: string; apiKey: string; keyId: string };

export type DeploymentTracing = {
  /** Where a workspace's traces go and with which key; null leaves a server untraced. */
  target(workspaceId: string): Promise<TraceTarget | null>;
  /** The key servers should send with now, made anew where the last one was revoked; null where that is not known. */
  currentKeyId(workspaceId: string): Promise<string | null>;
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

/** One key per workspace, made when its first deployment starts. Nothing here may stop a deployment. */
export function createDeploymentTracing(options: DeploymentTracingOptions): DeploymentTracing {
  const { database, clock, logger, secretBox, port } = options;
  const lock = new KeyedLock();
  if (!port) {
    return {
      target: async () => null,
      currentKeyId: async () => null,
      watchKeys: async () => async () => {},
      ensureProject: async () => null,
      async removeProject() {},
    };
  }

  async function keyOf(workspaceId: string): Promise<{ id: string; key: string } | null> {
    const known = await findTracingKey(database.sql, workspaceId);
    // Somebody may have revoked it, or removed the member it was made for.
    if (known && (await port!.isKeyUsable(known.api_key_id, workspaceId))) {
      return { id: known.api_key_id, key: secretBox.open(known.key_sealed, tracingKeyContext(workspaceId)) };
    }
    const issued = await port!.issueKey(workspaceId);
    if (!issued) return null;
    const key_sealed = secretBox.seal(issued.key, tracingKeyContext(workspaceId));
    await saveTracingKey(database.sql, workspaceId, { api_key_id: issued.id, key_sealed }, clock.now());
    return issued;
  }

  return {
    async target(workspaceId) {
      try {
        const found = await lock.run(workspaceId, () => keyOf(workspaceId));
        return found && { endpoint: port.endpoint(), apiKey: found.key, keyId: found.id };
      } catch (error) {
        logger.warn(
          { workspace: workspaceId, reason: errorMessage(error) },
          "a deployment starts untraced: its workspace's tracing key could not be read or made",
        );
        return null;
      }
    },
    async currentKeyId(workspaceId) {
      try {
        return (await lock.run(workspaceId, () => keyOf(workspaceId)))?.id ?? null;
      } catch (error) {
        logger.warn(
          { workspace: workspaceId, reason: errorMessage(error) },
          "whether the tracing key of a workspace is still good could not be seen, trying again",
        );
        return null;
      }
    },
    watchKeys: (onChange) => port.watchKeys(onChange),
    async ensureProject(workspaceId, name) {
      try {
        return await port.ensureProject(workspaceId, name);
      } catch (error) {
        logger.warn(
          { workspace: workspaceId, project: name, reason: errorMessage(error) },
          "the tracing project of a deployment could not be made yet; its first trace makes it",
        );
        return null;
      }
    },
    removeProject: (workspaceId, name) => port.removeProject(workspaceId, name),
  };
}
