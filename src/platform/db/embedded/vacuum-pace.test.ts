import { join } from "node:path";
import { afterEach, it } from "vitest";
import { waitUntil } from "../../../../tests/support/components/wait-until.ts";
import { prepareDataDir } from "../../../../tests/support/prepared-data.ts";
import { createDataParent } from "../../../../tests/support/treadle.ts";
import { createLogger } from "../../logger.ts";
import { openDatabase } from "../connection/open-database.ts";
import { startEmbeddedPostgres } from "./embedded-postgres.ts";
import { VacuumPace } from "./vacuum-pace.ts";

const logger = createLogger({ level: "silent" });
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

it("visits are rare while little is written, and frequent again once more is", async () => {
  const parent = await createDataParent("pace");
  cleanups.push(() => parent.remove());
  const dataDir = await prepareDataDir(join(parent.path, "data"));
  const server = await startEmbeddedPostgres({ dataDir, logger, settings: { fsync: "off" } });
  cleanups.push(() => server.stop());
  const database = openDatabase({ url: server.url, poolSize: 2, logger });
  cleanups.push(() => database.close());
  const run = <Row extends object>(text: string) => database.query<Row>({ name: "", text }, []);
  await run("create table written (number int)");

  const pace = new VacuumPace({ database, logger, lookEveryMs: 400 });
  pace.start();
  cleanups.push(async () => pace.stop());
  const becomes = (seconds: string, meanwhile = "select 1") =>
    waitUntil(
      async () => {
        await run(meanwhile);
        const [row] = await run<{ setting: string }>(
          "select setting from pg_settings where name = 'autovacuum_naptime'",
        );
        return row!.setting === seconds;
      },
      { what: `a visit every ${seconds} s`, timeoutMs: 30_000 },
    );
  await becomes("600");
  // PostgreSQL counts what a connection wrote once a second.
  await becomes("60", "insert into written select generate_series(1, 20000)");
  await becomes("600");
}, 120_000);
