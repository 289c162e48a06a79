import { spawn } from "node:child_process";
import { startDebianPostgres } from "../tests/support/components/debian-postgres.ts";

/**
 * `npm test`: everything on the embedded PostgreSQL, then the tests nearest to SQL once more on Debian's
 * PostgreSQL 15, the oldest one supported. Arguments go to Vitest and choose the first pass alone.
 */
const sqlTests = [
  "src/platform/db/",
  "src/platform/jobs/",
  "src/platform/http/idempotency",
  "src/agent-server/",
  "src/traces/",
  "src/workspaces/",
  "src/bulk-export/",
  "tests/security.test.ts",
  "tests/journeys/agent-runs.test.ts",
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

const args = process.argv.slice(2);
const first = await vitest(args);
if (first !== 0 || args.length > 0) process.exit(first);

console.log("\nOnce more on PostgreSQL 15\n");
const postgres = await startDebianPostgres();
const second = await vitest(sqlTests, { TREADLE_TEST_DATABASE_URL: postgres.url });
await postgres.stop();
process.exit(second);
