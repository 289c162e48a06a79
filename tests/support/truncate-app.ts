import { Hono } from "hono";
import pg from "pg";

/**
 * What the public test suites of other servers ask between tests, `POST /internal/truncate`, as the `http.app` of a
 * project: the server itself cannot be emptied over HTTP. It takes the database from `DATABASE_URL`, as the server does.
 */
export const app = new Hono();

const checkpoints = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"];

/** The default assistants stay: the server makes them once. */
const emptied: Record<string, string[]> = {
  runs: ["delete from thread_events", "delete from runs"],
  checkpointer: checkpoints.map((table) => `delete from ${table}`),
  checkpoint: checkpoints.map((table) => `delete from ${table}`),
  threads: [
    ...checkpoints.map((table) => `delete from ${table}`),
    "delete from thread_events",
    "delete from threads",
  ],
  assistants: ["delete from assistants where metadata ->> 'created_by' is distinct from 'system'"],
  store: ["delete from store_items"],
};

app.post("/internal/truncate", async (context) => {
  const asked = await context.req.json<Record<string, boolean>>();
  const unknown = Object.keys(asked).filter((name) => !(name in emptied));
  if (unknown.length > 0) return context.json({ detail: `Nothing is named ${unknown.join(", ")}.` }, 422);
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  try {
    await client.query("begin");
    for (const [name, statements] of Object.entries(emptied)) {
      for (const statement of asked[name] ? statements : []) await client.query(statement);
    }
    await client.query("commit");
  } finally {
    await client.end();
  }
  return context.json({ ok: true });
});
