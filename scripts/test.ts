import { spawn } from "node:child_process";
import { glob, readFile } from "node:fs/promises";
import { startDebianPostgres } from "../tests/support/components/debian-postgres.ts";

/**
 * `npm test`: everything on the embedded PostgreSQL, then what runs statements of its own once more on Debian's
 * PostgreSQL 15, the oldest one supported: every test beside the source that comes by the database of the run. Those
 * that do not would do the same again, and journeys run the same statements as they. Arguments go to Vitest and choose
 * the first pass alone.
 */
const usesDatabase = /tests\/support\/(database|postgres|old-database|app|agent-server|[\w-]+-app)\.ts"/;

async function listStatementTests(): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob("src/**/*.test.ts")) {
    if (usesDatabase.test(await readFile(file, "utf8"))) found.push(file);
  }
  return found.sort();
}

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
// As many as the embedded one has: four files are open at once.
const postgres = await startDebianPostgres({ settings: { max_connections: "300" } });
const second = await vitest(await listStatementTests(), { TREADLE_TEST_DATABASE_URL: postgres.url });
await postgres.stop();
process.exit(second);
