import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { listNamedTables } from "../tests/support/filled-tables.ts";
import { listHotStatements } from "../tests/support/hot-statements.ts";
import { readPlans } from "../tests/support/read-plans.ts";
import { openBenchDatabase } from "./bench-database.ts";

/** Do the plans of all hot statements stay at indexes with so many rows in every table? `--rows 1000000` */
const { values } = parseArgs({ options: { rows: { type: "string", default: "1000000" } } });
const rows = Number(values.rows);
if (!Number.isSafeInteger(rows) || rows < 1_000) throw new Error("--rows takes a whole number from 1000 on.");

const { database, stop } = await openBenchDatabase();
try {
  const statements = await listHotStatements();
  const texts = statements.map(({ statement }) => statement.text);
  const tables = await listNamedTables(database.sql, texts);
  const started = performance.now();
  const found = await readPlans(database, { statements, tables, from: 0, to: rows });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  for (const complaint of found) console.log(complaint);
  console.log(
    `${statements.length} statements, ${tables.length} tables of ${rows} rows, ${found.length} complaints, ${seconds} s, load ${loadavg()[0]!.toFixed(1)}`,
  );
  process.exitCode = found.length === 0 ? 0 : 1;
} finally {
  await stop();
}
process.exit();
