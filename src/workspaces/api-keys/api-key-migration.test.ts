import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOldDatabase, type OldDatabase } from "../../../tests/support/old-database.ts";
import { raw } from "../../platform/db/raw.ts";
import { mayUseAccounts } from "../identity/api-key.ts";
import { findIdentityById } from "../identity/api-key-store.ts";

/** What becomes of the keys of a database that is older than scopes. */
let old: OldDatabase;

beforeAll(async () => {
  old = await createOldDatabase("0023");
});
afterAll(() => old?.remove());

async function insertOrganization(people: number) {
  const { sql } = old.database;
  const [organization, workspace] = [randomUUID(), randomUUID()];
  await raw`insert into organizations (id, name) values (${organization}, 'Mill')`.execute(sql);
  await raw`insert into workspaces (id, organization_id, name) values (${workspace}, ${organization}, 'One')`.execute(
    sql,
  );
  const users: string[] = [];
  for (let index = 0; index < people; index++) {
    const id = randomUUID();
    users.push(id);
    await raw`insert into users (id, organization_id, email, name, is_bootstrap)
      values (${id}, ${organization}, ${`${id}@example.com`}, 'Somebody', ${index === 0})`.execute(sql);
    await raw`insert into memberships (workspace_id, user_id, role) values (${workspace}, ${id}, 'admin')`.execute(
      sql,
    );
  }
  return { organization, workspace, users };
}

async function insertKey(at: {
  organization: string;
  user: string;
  workspace: string | null;
  expires?: string;
}): Promise<string> {
  const id = randomUUID();
  await raw`insert into api_keys (id, organization_id, user_id, workspace_id, name, prefix, hash, role, expires_at)
    values (${id}, ${at.organization}, ${at.user}, ${at.workspace}, 'Old', 'trk_', ${id}, 'admin',
      ${at.expires ?? null})`.execute(old.database.sql);
  return id;
}

test("keys of people keep what they may do; tracing keys write traces and nothing else, for a week", async () => {
  const one = await insertOrganization(1);
  const two = await insertOrganization(2);
  const alone = await insertKey({ ...one, user: one.users[0]!, workspace: one.workspace });
  const everywhere = await insertKey({ ...two, user: two.users[1]!, workspace: null });
  const byWhom = await insertKey({ ...two, user: two.users[1]!, workspace: two.workspace });
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const tracing = await insertKey({ ...two, user: two.users[0]!, workspace: two.workspace });
  const expiring = await insertKey({ ...one, user: one.users[0]!, workspace: one.workspace, expires: soon });
  for (const [workspace, key] of [
    [two.workspace, tracing],
    [one.workspace, expiring],
  ]) {
    await raw`insert into tracing_keys (workspace_id, api_key_id, key_sealed)
      values (${workspace}, ${key}, 'sealed')`.execute(old.database.sql);
  }

  await old.migrate();

  const found = (id: string) => findIdentityById(old.database, id);
  for (const [id, user] of [
    [alone, one.users[0]],
    [everywhere, two.users[1]],
  ]) {
    const key = (await found(id!))!;
    expect(key).toMatchObject({ user_id: user, role: "admin", scopes: null, created_by: user });
    expect([key.memberships.length, key.expires_at, mayUseAccounts(key)]).toEqual([1, null, true]);
  }
  // Another administrator may have made this key, and then knows it: it works, but may not use anyone's accounts.
  const unknown = (await found(byWhom))!;
  expect(unknown).toMatchObject({ user_id: two.users[1], role: "admin", scopes: null, created_by: null });
  expect(mayUseAccounts(unknown)).toBe(false);

  const narrow = (await found(tracing))!;
  expect(narrow).toMatchObject({ user_id: null, created_by: null, scopes: ["traces:write"] });
  expect(narrow.memberships.map(({ workspace_id }) => workspace_id)).toEqual([two.workspace]);
  expect(mayUseAccounts(narrow)).toBe(false);
  const days = (narrow.expires_at!.getTime() - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(6.9);
  expect(days).toBeLessThanOrEqual(7);
  // One that would have ended sooner still does.
  expect((await found(expiring))?.expires_at?.toISOString()).toBe(soon);
});
