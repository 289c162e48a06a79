import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type DebianPostgres,
  startDebianPostgres,
} from "../../../tests/support/components/debian-postgres.ts";
import { createTestDatabase } from "../../../tests/support/database.ts";
import { createLogger } from "../logger.ts";
import { openDatabase } from "./connection/open-database.ts";
import type { Database } from "./database.ts";
import { raiseDatabaseWalls } from "./database-walls.ts";
import { createOwnDatabase, dropOwnDatabase, ownDatabaseUrl, ownRoleConnections } from "./own-database.ts";

type Ground = { database: Database; url: string; ownsServer: boolean; stop(): Promise<void> };

const grounds: Record<string, () => Promise<Ground>> = {
  "the embedded PostgreSQL": async () => {
    const test = await createTestDatabase();
    return { database: test.database, url: test.url, ownsServer: false, stop: test.drop };
  },
  "PostgreSQL 15": async () => {
    const server: DebianPostgres = await startDebianPostgres();
    const logger = createLogger({ level: "silent" });
    const database = openDatabase({ url: server.url, poolSize: 4, logger });
    return {
      ...{ database, url: server.url, ownsServer: true },
      async stop() {
        await database.close();
        await server.stop();
      },
    };
  },
};

describe.each(Object.keys(grounds))("roles of deployments on %s", (name) => {
  let ground: Ground;
  const own = { name: `dep_${randomBytes(6).toString("hex")}`, password: "one's own" };
  const other = { name: `dep_${randomBytes(6).toString("hex")}`, password: "another's" };
  const ask = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(text)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
  const asOwn = () => ownDatabaseUrl(ground.url, own);
  const elsewhere = (database: string) => {
    const url = new URL(asOwn());
    url.pathname = `/${database}`;
    return url.href;
  };
  const raise = () =>
    raiseDatabaseWalls(ground.database.sql, { ownsServer: ground.ownsServer, roles: [own.name, other.name] });

  beforeAll(async () => {
    ground = await grounds[name]!();
    for (const each of [own, other]) await createOwnDatabase(ground.database.sql, each);
  }, 120_000);

  afterAll(async () => {
    for (const each of [own, other]) await dropOwnDatabase(ground.database.sql, each.name);
    await ground?.stop();
  });

  it("have nothing to do with the platform's database, nor with another deployment's", async () => {
    const platform = new URL(ground.url).pathname.slice(1);
    // As an earlier version left it.
    await expect(ask(elsewhere(platform), "listen run_events")).resolves.toEqual([]);
    const missing = await raise();
    await expect(ask(elsewhere(platform), "listen run_events")).rejects.toThrow(/permission denied/);
    await expect(ask(elsewhere(other.name), "select 1")).rejects.toThrow(/permission denied/);
    await expect(ask(asOwn(), "create table mine (id int)")).resolves.toEqual([]);
    if (ground.ownsServer) {
      await expect(ask(elsewhere("template1"), "select 1")).rejects.toThrow(/permission denied/);
      await expect(ask(elsewhere("postgres"), "select 1")).rejects.toThrow(/permission denied/);
      expect(missing).toEqual({ platform: null, others: [], roles: [] });
    } else expect(missing).toMatchObject({ platform: null, others: expect.arrayContaining(["template1"]) });
    // The platform itself still comes in.
    await expect(ask(ground.url, "select 1")).resolves.toHaveLength(1);
  });

  it("are bounded, also those made before there were bounds", async () => {
    const look = `select rolconnlimit, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls
      from pg_roles where rolname = '${own.name}'`;
    const bounded = {
      ...{ rolconnlimit: ownRoleConnections, rolsuper: false, rolcreatedb: false, rolcreaterole: false },
      ...{ rolreplication: false, rolbypassrls: false },
    };
    expect(await ask(ground.url, look)).toEqual([bounded]);
    await ask(ground.url, `alter role "${own.name}" connection limit -1 createdb`);
    await ask(ground.url, `alter role "${own.name}" reset all`);
    await raise();
    expect(await ask(ground.url, look)).toEqual([bounded]);
    expect(await ask(asOwn(), "show idle_in_transaction_session_timeout")).toEqual([
      { idle_in_transaction_session_timeout: "5min" },
    ]);
    expect(await ask(asOwn(), "show statement_timeout")).toEqual([{ statement_timeout: "30min" }]);
  });

  it("are reported where the platform may not close its database, which stops nothing", async () => {
    const guest = { name: `dep_${randomBytes(6).toString("hex")}`, password: "a guest's" };
    const platform = new URL(ground.url).pathname.slice(1);
    await ask(ground.url, `create role "${guest.name}" login createrole createdb password 'a guest''s'`);
    await ask(ground.url, `grant connect, temporary on database "${platform}" to public`);
    await ask(ground.url, `alter role "${own.name}" connection limit -1`);
    const asGuest = new URL(ownDatabaseUrl(ground.url, guest));
    asGuest.pathname = `/${platform}`;
    const database = openDatabase({
      ...{ url: asGuest.href, poolSize: 1, logger: createLogger({ level: "silent" }) },
    });
    const missing = await raiseDatabaseWalls(database.sql, { ownsServer: false, roles: [own.name] });
    await database.close();
    await ask(ground.url, `drop role "${guest.name}"`);
    expect(missing.platform).toBe(platform);
    // Up to PostgreSQL 15, a role that may create roles may alter any role.
    const [server] = await ask(ground.url, "select current_setting('server_version_num')::int as version");
    expect(missing.roles).toEqual(Number(server!.version) < 160_000 ? [] : [own.name]);
    expect(await raise()).toMatchObject({ platform: null, roles: [] });
  });

  it("do not see what others ask", async () => {
    const seen = await ask(
      asOwn(),
      `select query from pg_stat_activity where usename is distinct from current_user and query not in ('', '<insufficient privilege>')`,
    );
    expect(seen).toEqual([]);
  });
});
