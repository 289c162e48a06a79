import { randomBytes, randomUUID } from "node:crypto";
import {
  deploymentDatabaseContext,
  deploymentSecretsContext,
  revisionSecretsContext,
} from "../src/control-plane/encryption/sealed-columns.ts";
import { provisionDatabase } from "../src/control-plane/reconciler/provision-database.ts";
import type { Database } from "../src/platform/db/database.ts";
import { raw } from "../src/platform/db/raw.ts";
import { SecretBox } from "../src/platform/encryption/secret-box.ts";

export type Copies = {
  /** The deployment that was really built. */
  of: string;
  name: string;
  count: number;
  /** How many of them, from the first, get a database: one without cannot be started. */
  withDatabase: number;
};

/** Deployments with the same build, as the platform writes them, each with its own secrets. Answers with their slugs. */
export async function copyDeployment(
  database: Database,
  secretKey: string,
  { of, name, count, withDatabase }: Copies,
): Promise<string[]> {
  const box = new SecretBox({ currentKey: secretKey });
  const slugs: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const [id, revisionId] = [randomUUID(), randomUUID()];
    const own = { name: `treadle_d_${id.replaceAll("-", "")}`, password: randomBytes(12).toString("hex") };
    const slug = `${name}-${index}-${id.slice(-12)}`;
    await copyRows(
      database,
      { of, id, revisionId, slug, name: `${name}-${index}` },
      {
        database: own.name,
        secrets: box.seal("[]", deploymentSecretsContext(id)),
        password: box.seal(own.password, deploymentDatabaseContext(id)),
        revision: box.seal("[]", revisionSecretsContext(revisionId)),
      },
    );
    // Only a deployment that is there gets a database.
    if (index < withDatabase) await provisionDatabase(database.sql, id, own);
    slugs.push(slug);
  }
  await raw`analyze deployments`.execute(database.sql);
  await raw`analyze revisions`.execute(database.sql);
  return slugs;
}

async function copyRows(
  { sql }: Database,
  place: { of: string; id: string; revisionId: string; slug: string; name: string },
  sealed: { database: string; secrets: string; password: string; revision: string },
): Promise<void> {
  await raw`insert into deployments select (jsonb_populate_record(d, jsonb_build_object(
      'id', ${place.id}::text, 'name', ${place.name}::text, 'slug', ${place.slug}::text,
      'database_name', ${sealed.database}::text, 'secrets_sealed', ${sealed.secrets}::text,
      'database_password_sealed', ${sealed.password}::text, 'active_revision_id', null, 'latest_revision_id', null,
      'previous_revision_id', null))).* from deployments d where id = ${place.of}`.execute(sql);
  await raw`insert into revisions select (jsonb_populate_record(r, jsonb_build_object(
      'id', ${place.revisionId}::text, 'deployment_id', ${place.id}::text,
      'secrets_sealed', ${sealed.revision}::text))).* from revisions r
    where id = (select active_revision_id from deployments where id = ${place.of})`.execute(sql);
  await raw`update deployments set active_revision_id = ${place.revisionId}, latest_revision_id = ${place.revisionId}
    where id = ${place.id}`.execute(sql);
}
