import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { tracingKeyContext } from "../encryption/sealed-columns.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import { findTracingKey } from "../tracing/tracing-key-store.ts";

/** Servers send their traces to the platform, with the key it gave for them. It is kept here, for when the platform is away. */
export function remoteTracing(
  { database, secretBox }: { database: Database; secretBox: SecretBox },
  platformUrl: string,
): DeploymentTracing {
  return {
    async target({ id }) {
      const known = await findTracingKey(database.sql, id);
      if (!known) return null;
      const apiKey = secretBox.open(known.key_sealed, tracingKeyContext(id));
      return { endpoint: `${platformUrl}/api/v1`, apiKey, keyId: known.api_key_id };
    },
    currentKeyId: async ({ id }) => (await findTracingKey(database.sql, id))?.api_key_id ?? null,
    // Keys and projects are the platform's.
    async endUnusedKeys() {},
    watchKeys: async () => async () => {},
    ensureProject: async () => null,
    async removeProject() {},
  };
}
