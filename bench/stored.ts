import { join } from "node:path";
import pg from "pg";
import { startScratchServer } from "../tests/support/postgres.ts";
import { createDataParent, startTreadle } from "../tests/support/treadle.ts";

/**
 * What a run leaves in the database: echo runs on threads of several turns, traced. Rows and bytes of each table, for
 * one run. `npm run bench -- stored [THREADS] [TURNS]`.
 */
const threads = Number(process.argv[2] ?? 500);
const turns = Number(process.argv[3] ?? 4);
const runs = threads * turns;
const atOnce = 16;
const apiKey = "a-key-of-the-bench";
const run = { assistant_id: "echo", input: { messages: [{ role: "user", content: "again" }] } };

type TableSize = { name: string; rows: number; bytes: number };

const [postgres, parent] = await Promise.all([startScratchServer(), createDataParent("bench-stored")]);
const sql = new pg.Client({ connectionString: postgres.url });
const server = await startTreadle(["--data-dir", join(parent.path, "data")], {
  env: { DATABASE_URL: postgres.url, TREADLE_API_KEY: apiKey },
});
try {
  await sql.connect();
  const before = new Map((await measureTables()).map((table) => [table.name, table]));
  let left = threads;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const { thread_id } = (await post("/threads", {})) as { thread_id: string };
      for (let turn = 0; turn < turns; turn += 1) await post(`/threads/${thread_id}/runs/wait`, run);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  await server.stop();
  let sum = 0;
  for (const { name, rows, bytes } of await measureTables()) {
    const more = bytes - (before.get(name)?.bytes ?? 0);
    sum += more;
    if (more / runs >= 1) console.log(row(name, (rows - (before.get(name)?.rows ?? 0)) / runs, more / runs));
  }
  console.log(row("all tables", undefined, sum / runs));
} finally {
  await sql.end();
  await server.stop();
  await postgres.stop();
  await parent.remove();
}

/** With indexes and what is stored out of line, and without what is no longer used; partitions as one table. */
async function measureTables(): Promise<TableSize[]> {
  await sql.query("vacuum full analyze");
  const { rows } = await sql.query<TableSize>(`
    select coalesce(inhparent::regclass, c.oid::regclass)::text as name,
      sum(greatest(reltuples, 0))::float8 as rows, sum(pg_total_relation_size(c.oid))::float8 as bytes
    from pg_class c left join pg_inherits on inhrelid = c.oid
    where relkind = 'r' and relnamespace = 'public'::regnamespace
    group by 1 order by 3 desc`);
  return rows;
}

async function post(path: string, body: unknown): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${server.ready.port}${path}`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

function row(name: string, rows: number | undefined, bytes: number): string {
  return `${name.padEnd(30)} ${(rows === undefined ? "" : rows.toFixed(2)).padStart(6)} rows ${bytes.toFixed(0).padStart(7)} bytes`;
}
