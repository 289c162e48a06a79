import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../tests/support/database.ts";
import { raw } from "../platform/db/raw.ts";
import { newId } from "../platform/ids.ts";
import { createLogger } from "../platform/logger.ts";
import { ServerProcesses } from "./processes.ts";

const logger = createLogger({ level: "silent" });
let testing: TestDatabase;
const processes: ServerProcesses[] = [];
/** What each knows, by its id. */
const counts = new Map<string, number>();
let fewest = Number.POSITIVE_INFINITY;

beforeAll(async () => {
  testing = await createTestDatabase({ poolSize: 3 });
});
afterAll(async () => {
  for (const each of processes) await each.stop();
  await testing?.drop();
});

async function start(): Promise<ServerProcesses> {
  const processId = newId();
  const onChange = (count: number) => {
    counts.set(processId, count);
    fewest = Math.min(fewest, count);
  };
  const made = new ServerProcesses({ database: testing.database, logger, processId, onChange });
  processes.push(made);
  await made.start();
  await made.takeRuns(true);
  return made;
}

const allKnow = (count: number) =>
  waitUntil(() => [...counts.values()].every((known) => known === count), {
    what: `each process to know ${count}`,
    timeoutMs: 20_000,
    evidence: () => JSON.stringify([...counts.values()]),
  });

/** Each has looked, once for every announcement until now: they do so on the connection that brings those, in turn. */
async function settled(): Promise<void> {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const unlisten = await testing.database.listen("treadle_processes", (payload) => {
    if (payload === "the last one") resolve();
  });
  await testing.database.notify("treadle_processes", "the last one");
  await arrived;
  await unlisten();
  await testing.database.background({ name: "in_turn", text: "select 1" }, []);
}

test("processes that were away for longer than they are remembered know one another again at once", async () => {
  await start();
  await start();
  await start();
  await settled();
  await allKnow(3);
  fewest = 3;
  await raw`update server_processes set seen_at = now() - interval '10 minutes'`.execute(
    testing.database.sql,
  );
  // What a database that is back makes each of them do.
  await testing.database.notify("treadle_processes", "");
  await waitUntil(() => fewest === 1, { what: "the first one, which is alone", timeoutMs: 20_000 });
  await allKnow(3);
  const [first, ...others] = processes.map(({ takers }) => takers);
  expect(first).toHaveLength(3);
  for (const takers of others) expect(takers).toEqual(first);
});

test("one that stops is known to be gone at once", async () => {
  await allKnow(processes.length);
  const stopped = processes.pop()!;
  await stopped.stop();
  for (const each of processes) await expect.poll(() => each.takers.length).toBe(processes.length);
});

test("a process of before that knows less is known to the others, until it is gone", async () => {
  const [one] = processes;
  expect(one!.oldestCode).toBeGreaterThanOrEqual(182);
  const old = newId();
  await raw`insert into server_processes (process_id) values (${old})`.execute(testing.database.sql);
  await testing.database.notify("treadle_processes", old);
  await expect.poll(() => one!.oldestCode).toBe(0);
  await one!.lost(old);
  await expect.poll(() => one!.oldestCode).toBeGreaterThanOrEqual(182);
});
