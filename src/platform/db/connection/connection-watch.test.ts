import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startTcpProxy, type TcpProxy } from "../../../../tests/support/components/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { createLogger } from "../../logger.ts";
import type { Database } from "../database.ts";
import { raw } from "../raw.ts";
import { openDatabase } from "./open-database.ts";

const logger = createLogger({ level: "silent" });
const answerMs = 1_000;
let test: TestDatabase;
let proxy: TcpProxy;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
});
afterEach(async () => {
  await proxy.restore();
  await database.close();
  await proxy.stop();
});
afterAll(() => test?.drop());

async function open(): Promise<void> {
  proxy = await startTcpProxy({ target: test.url });
  database = openDatabase({
    url: proxy.urlFor(test.url),
    poolSize: 2,
    logger,
    answerMs,
    connectTimeoutMs: 3_000,
  });
}

const unnamed = (text: string) => ({ name: "", text });

describe("a connection that owes an answer", () => {
  it("is given up when the network swallows everything, and callers get an error", async () => {
    await open();
    await database.ping();
    proxy.blackHole();
    await expect(database.query(unnamed("select 1"), [])).rejects.toMatchObject({
      code: "database.unavailable",
      retryable: true,
    });
  }, 30_000);

  it("is given up when only it is dead, and its session with the locks it holds is ended", async () => {
    await open();
    await raw`create table locked (id integer primary key)`.execute(test.database.sql);
    await raw`insert into locked values (1)`.execute(test.database.sql);
    const holding = Promise.withResolvers<void>();
    const swallowed = database.transaction(async (tx) => {
      await raw`select * from locked where id = 1 for update`.execute(tx);
      proxy.swallowOpen();
      holding.resolve();
      await raw`select 2`.execute(tx);
    });
    await holding.promise;
    await expect(swallowed).rejects.toMatchObject({ code: "database.unavailable" });
    // New connections work, and no lock blocks an update of the row.
    await database.query(unnamed("update locked set id = 2 where id = 1"), []);
  }, 30_000);

  it("is left alone while the server is at work for it", async () => {
    await open();
    const [row] = await database.query<{ done: boolean }>(
      unnamed("select true as done from pg_sleep(4)"),
      [],
    );
    expect(row).toEqual({ done: true });
  }, 30_000);
});
