import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { completeRequest } from "./provider-request.ts";
import { providerCreateRequest } from "./provider-schemas.ts";
import * as store from "./provider-store.ts";
import { clientSecretContext } from "./sealed-columns.ts";

const fileSchema = z.array(providerCreateRequest);

/**
 * Makes the platform providers match the operator's file: new ones are added, known ones changed, and ones
 * that left the file are not offered any more. Their rows and tokens stay until those are revoked.
 */
export async function applyProviderFile(options: {
  path: string;
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
}): Promise<void> {
  const { path, database, clock, secretBox } = options;
  const wanted = await readProviderFile(path);
  await database.transaction(async (tx) => {
    const organizationId = await store.findOperatorOrganization(tx);
    if (organizationId === undefined)
      throw fileProblem(path, "there is no organization yet that could own the providers");
    for (const { provider_id } of wanted) await store.revivePlatformProvider(tx, provider_id, clock.now());
    const present = (await store.listPlatformProviders(tx, undefined)).filter((p) => p.workspace_id === null);
    for (const request of wanted) {
      const known = present.find((provider) => provider.provider_id === request.provider_id);
      const id = known?.id ?? newId();
      const secret = request.client_secret;
      const provider = {
        ...completeRequest(request),
        id,
        organization_id: organizationId,
        workspace_id: null,
        client_secret_sealed: secret == null ? null : secretBox.seal(secret, clientSecretContext(id)),
      };
      if (known) await store.updateProvider(tx, provider, clock.now());
      else await store.insertProvider(tx, { ...provider, created_at: clock.now() });
    }
    for (const provider of present) {
      if (wanted.some(({ provider_id }) => provider_id === provider.provider_id)) continue;
      await store.markProviderDeleted(tx, provider.id, clock.now());
    }
  });
}

async function readProviderFile(path: string): Promise<z.output<typeof fileSchema>> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    // Not the parser's own words: they quote the text, which holds secrets.
    const missing = (error as { code?: string }).code === "ENOENT";
    throw fileProblem(path, missing ? "it does not exist" : "it cannot be read as JSON");
  }
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success) {
    const [first] = parsed.error.issues;
    throw fileProblem(path, `${first?.path.join(".") || "the file"}: ${first?.message}`);
  }
  const ids = parsed.data.map((provider) => provider.provider_id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw fileProblem(path, `provider_id ${twice} appears twice`);
  return parsed.data;
}

function fileProblem(path: string, problem: string): AppError {
  return new AppError({
    code: "config.invalid",
    kind: "invalid",
    message: `TREADLE_OAUTH_PROVIDERS_FILE (${path}) cannot be used: ${problem}. It must be a JSON array of providers.`,
  });
}
