import type { JWK } from "jose";
import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type SigningKeyRow = { id: string; algorithm: string; public_jwk: JWK; private_jwk_sealed: string };

const columns = raw.raw("id, algorithm, public_jwk, private_jwk_sealed");

/** The first signer creates the key; the others wait here and find it. */
export async function lockSigningKeys(sql: Sql): Promise<void> {
  await raw`select pg_advisory_xact_lock(hashtext('treadle.signing_keys'))`.execute(sql);
}

export async function findCurrentSigningKey(sql: Sql): Promise<SigningKeyRow | undefined> {
  const { rows } = await raw<SigningKeyRow>`
    select ${columns} from signing_keys where retired_at is null order by created_at desc limit 1`.execute(
    sql,
  );
  return rows[0];
}

export async function findSigningKey(sql: Sql, id: string): Promise<SigningKeyRow | undefined> {
  const { rows } = await raw<SigningKeyRow>`
    select ${columns} from signing_keys where id = ${id} and retired_at is null`.execute(sql);
  return rows[0];
}

export async function insertSigningKey(sql: Sql, key: SigningKeyRow & { now: Date }): Promise<void> {
  await raw`
    insert into signing_keys (id, algorithm, public_jwk, private_jwk_sealed, created_at)
    values (${key.id}, ${key.algorithm}, ${JSON.stringify(key.public_jwk)}, ${key.private_jwk_sealed}, ${key.now})`.execute(
    sql,
  );
}
