import { execFileSync, spawn } from "node:child_process";
import { glob, readFile } from "node:fs/promises";
import { startDebianPostgres } from "../tests/support/components/debian-postgres.ts";

/**
 * `npm test`: everything on the embedded PostgreSQL, then what runs statements of its own once more on Debian's
 * PostgreSQL 15, the oldest one supported: every test beside the source that comes by the database of the run. Those
 * that do not would do the same again, and journeys run the same statements as they. Then what reads or writes traces
 * through an application once more with the runs in ClickHouse. Arguments go to Vitest and choose the first pass alone.
 */
const usesDatabase = /tests\/support\/(database|postgres|old-database|app|agent-server|[\w-]+-app)\.ts"/;

async function listStatementTests(): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob("src/**/*.test.ts")) {
    if (usesDatabase.test(await readFile(file, "utf8"))) found.push(file);
  }
  return found.sort();
}

/** Those that look at the tables of PostgreSQL are left out: what they check has a suite for both engines, in tests/conformance. */
const tracesTests = [
  ...["src/alerts/alerts.test.ts", "src/console/change-feed.test.ts", "src/console/search-routes.test.ts"],
  ...["annotation", "datasets", "experiments", "feedback", "otlp", "projects", "sharing"].map(
    (area) => `src/traces/${area}/`,
  ),
  ...[
    "ingest/ingest-routes",
    "ingest/one-project",
    "ingest/run-merging",
    "ingest/token-totals",
    "query/threads",
    "traces",
  ].map((name) => `src/traces/${name}.test.ts`),
  "tests/conformance/langsmith-client.test.ts",
  ...["run-feedback", "tracing-otel", "tracing-sdk"].map((name) => `tests/journeys/${name}.test.ts`),
];

function vitest(args: string[], environment: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn("vitest", ["run", ...args], {
      stdio: "inherit",
      env: { ...process.env, ...environment },
    });
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

/** CI has a time after which it begins nothing more, in seconds since 1970. */
function leaveOutIfLate(what: string): void {
  const last = Number(process.env.TREADLE_TEST_LAST_BEGIN ?? Infinity);
  if (Date.now() / 1000 < last) return;
  console.error(
    `NOT run, since the rest took so long: ${what}. Run \`npm test\` where there is time for it.`,
  );
  process.exit(0);
}

const args = process.argv.slice(2);
// Hundreds of servers are started; from edited sources each would start slowly. For a few files it does not pay.
if (args.length === 0) execFileSync(process.execPath, ["scripts/build-start.ts"], { stdio: "inherit" });
const first = await vitest(args);
if (first !== 0 || args.length > 0) process.exit(first);

leaveOutIfLate("what is once more done on PostgreSQL 15, and with traces in ClickHouse");
console.log("\nOnce more on PostgreSQL 15\n");
// As many as the embedded one has: four files are open at once.
const postgres = await startDebianPostgres({ settings: { max_connections: "300" } });
const second = await vitest(await listStatementTests(), { TREADLE_TEST_DATABASE_URL: postgres.url });
await postgres.stop();
if (second !== 0) process.exit(second);

leaveOutIfLate("what is once more done with traces in ClickHouse");
console.log("\nOnce more with traces in ClickHouse\n");
process.exit(await vitest(tracesTests, { TREADLE_TEST_TRACES: "clickhouse" }));
