import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { AppError } from "../../errors.ts";
import { Batcher, busyElsewhere } from "./batcher.ts";

type Row = { id: string; value: number; bytes?: number };

/** A writer whose flushes end when the test lets them, or at once. */
function recorder(fail: (rows: readonly Row[]) => unknown = () => undefined) {
  const flushes: Row[][] = [];
  const gates: (() => void)[] = [];
  let gated = false;
  return {
    flushes,
    gate: () => {
      gated = true;
    },
    open: () => {
      gated = false;
      for (const release of gates.splice(0)) release();
    },
    write: async (rows: readonly Row[]) => {
      flushes.push([...rows]);
      if (gated) await new Promise<void>((resolve) => gates.push(resolve));
      const error = fail(rows);
      if (error !== undefined) throw error;
      return rows.map((row) => row.value * 10);
    },
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `r${index}`, value: index }));

describe("collecting rows", () => {
  it("writes what one turn of the event loop added as one batch, with a result per row", async () => {
    const writer = recorder();
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write });
    expect(await batcher.addMany(rowsOf(5))).toEqual([0, 10, 20, 30, 40]);
    expect(writer.flushes).toHaveLength(1);
  });

  it("collects while every lane is busy, and uses each lane", async () => {
    const writer = recorder();
    writer.gate();
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, lanes: 2 });
    const settled: Promise<number>[] = [];
    for (const row of rowsOf(4)) {
      settled.push(batcher.add(row));
      await turn();
      await turn();
    }
    expect(writer.flushes.map((rows) => rows.length)).toEqual([1, 1]);
    expect(batcher.stats()).toMatchObject({ queuedRows: 2, busyLanes: 2 });
    writer.open();
    await Promise.all(settled);
    expect(writer.flushes.map((rows) => rows.length)).toEqual([1, 1, 2]);
  });

  it("bounds a flush by rows and by bytes, and lets an oversized row through alone", async () => {
    const writer = recorder();
    const options = { name: "t", flush: writer.write, lanes: 1, maxRows: 3, maxBytes: 100 };
    const batcher = new Batcher<Row, number>({ ...options, bytesOf: (row) => row.bytes ?? 0 });
    await batcher.addMany(rowsOf(4));
    await batcher.addMany([60, 60, 500, 10].map((bytes, index) => ({ id: `b${index}`, value: 1, bytes })));
    expect(writer.flushes.map((rows) => rows.length)).toEqual([3, 1, 1, 1, 1, 1]);
  });

  it("holds rows back when the queue is full and admits them in order", async () => {
    const writer = recorder();
    const limits = { maxRows: 2, maxQueuedRows: 4, lanes: 1 };
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, ...limits });
    const all = batcher.addMany(rowsOf(10));
    expect(batcher.stats()).toMatchObject({ queuedRows: 4, heldRows: 6 });
    let ready = false;
    const becameReady = batcher.ready().then(() => {
      ready = true;
    });
    await Promise.resolve();
    expect(ready).toBe(false);
    await all;
    await becameReady;
    expect(writer.flushes.flat().map((row) => row.id)).toEqual(rowsOf(10).map((row) => row.id));
  });

  it("drains: everything added has settled, and it can be used again", async () => {
    const writer = recorder();
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, maxRows: 1, lanes: 1 });
    const results: number[] = [];
    for (const row of rowsOf(3)) void batcher.add(row).then((result) => results.push(result));
    await batcher.drain();
    expect(results).toEqual([0, 10, 20]);
    await batcher.drain();
    expect(await batcher.add({ id: "x", value: 7 })).toBe(70);
  });
});

describe("rows of one key", () => {
  const keyOf = (row: Row) => row.id;

  it("are merged while they wait, and all their promises settle", async () => {
    const writer = recorder();
    const merge = (older: Row, newer: Row) => ({ ...newer, value: older.value + newer.value });
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, keyOf, merge });
    const results = batcher.addMany([
      { id: "a", value: 1 },
      { id: "b", value: 5 },
      { id: "a", value: 2 },
    ]);
    expect(await results).toEqual([30, 50, 30]);
    expect(writer.flushes).toEqual([
      [
        { id: "a", value: 3 },
        { id: "b", value: 5 },
      ],
    ]);
  });

  it("are never in two lanes at once", async () => {
    const writer = recorder();
    writer.gate();
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, keyOf, lanes: 2 });
    const first = batcher.add({ id: "a", value: 1 });
    await turn();
    const later = batcher.addMany([
      { id: "a", value: 2 },
      { id: "b", value: 3 },
    ]);
    await turn();
    expect(writer.flushes).toEqual([[{ id: "a", value: 1 }], [{ id: "b", value: 3 }]]);
    writer.open();
    expect(await Promise.all([first, later])).toEqual([10, [20, 30]]);
  });

  it("fail apart when only one of the merged rows is bad", async () => {
    const writer = recorder((rows) =>
      rows.some((row) => row.value === 13) ? new Error("bad row") : undefined,
    );
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, keyOf });
    const results = await Promise.allSettled([
      batcher.add({ id: "a", value: 1 }),
      batcher.add({ id: "a", value: 13 }),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected"]);
  });
});

describe("rows of one group", () => {
  const groupOf = (row: Row) => row.id.slice(0, 1);
  const rowOf = (id: string, value = 1) => ({ id, value });

  it("are never in two lanes at once", async () => {
    const writer = recorder();
    writer.gate();
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, groupOf, lanes: 3 });
    const first = batcher.add(rowOf("a1"));
    await turn();
    const later = batcher.addMany([rowOf("a2"), rowOf("b1")]);
    await turn();
    expect(writer.flushes).toEqual([[rowOf("a1")], [rowOf("b1")]]);
    writer.open();
    expect(await Promise.all([first, later])).toEqual([10, [10, 10]]);
    expect(writer.flushes[2]).toEqual([rowOf("a2")]);
  });

  it("that is busy elsewhere are written later, alone, before newer rows of their key, and keep nobody waiting", async () => {
    const flushes: Row[][] = [];
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const batcher = new Batcher<Row, number>({
      ...{ name: "t", groupOf, lanes: 2, keyOf: (row) => row.id },
      merge: (older, newer) => ({ ...newer, value: older.value * 10 + newer.value }),
      async flush(rows) {
        flushes.push([...rows]);
        if (rows.every((row) => groupOf(row) === "a")) await gate;
        return rows.map((row) =>
          groupOf(row) === "a" && rows.length > 1 && flushes.length === 1 ? busyElsewhere : row.value,
        );
      },
    });
    const settled: string[] = [];
    const add = (row: Row) => batcher.add(row).then((value) => settled.push(`${row.id} ${value}`));
    const first = [add(rowOf("a1")), add(rowOf("b1"))];
    await turn();
    const second = [add(rowOf("c1", 2)), add(rowOf("a1", 2)), add(rowOf("b1", 3))];
    await Promise.all([second[0], second[2]]);
    expect(settled.sort()).toEqual(["b1 1", "b1 3", "c1 2"]);
    open();
    await Promise.all([...first, ...second]);
    expect(flushes.filter((rows) => rows[0]!.id === "a1")[1]).toEqual([rowOf("a1", 12)]);
    expect(settled.filter((each) => each === "a1 12")).toHaveLength(2);
    expect(await batcher.addMany([rowOf("a1"), rowOf("b1")])).toEqual([1, 1]);
    expect(flushes.at(-1)).toHaveLength(2);
    expect(batcher.stats()).toMatchObject({ queuedRows: 0, queuedBytes: 0, busyLanes: 0 });
  });
});

describe("failures", () => {
  it("a poison row fails alone", async () => {
    const writer = recorder((rows) =>
      rows.some((row) => row.value === 37) ? new Error("bad row") : undefined,
    );
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write });
    const results = await Promise.allSettled(rowsOf(100).map((row) => batcher.add(row)));
    expect(results.filter((result) => result.status === "rejected")).toHaveLength(1);
    expect(results[37]).toMatchObject({ status: "rejected", reason: { message: "bad row" } });
    expect(batcher.stats()).toMatchObject({ rowsWritten: 99, rowsFailed: 1 });
  });

  const away = () => new AppError({ code: "database.unavailable", kind: "unavailable", message: "away" });

  it("a database that returns is waited for, with the batch whole", async () => {
    let failures = 3;
    const writer = recorder(() => (failures-- > 0 ? away() : undefined));
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, firstRetryMs: 1 });
    expect(await batcher.addMany(rowsOf(3))).toEqual([0, 10, 20]);
    expect(writer.flushes.map((rows) => rows.length)).toEqual([3, 3, 3, 3]);
  });

  it("a database that stays away fails the batch after a bounded number of tries, and the next one is tried", async () => {
    let gone = true;
    const writer = recorder(() => (gone ? away() : undefined));
    const batcher = new Batcher<Row, number>({
      name: "t",
      flush: writer.write,
      retries: 2,
      firstRetryMs: 1,
    });
    const results = await Promise.allSettled(rowsOf(50).map((row) => batcher.add(row)));
    expect(results.every((result) => result.status === "rejected")).toBe(true);
    expect(writer.flushes).toHaveLength(3);
    gone = false;
    expect(await batcher.add({ id: "x", value: 1 })).toBe(10);
  });

  it("a database that lets nobody in is asked once, not once per row", async () => {
    const refused = new AppError({
      code: "database.refused",
      kind: "unavailable",
      retryable: false,
      message: "no",
    });
    const writer = recorder(() => refused);
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write });
    const results = await Promise.allSettled(rowsOf(50).map((row) => batcher.add(row)));
    expect(results.every((result) => result.status === "rejected")).toBe(true);
    expect(writer.flushes).toHaveLength(1);
  });

  it("is not tried again when those who wait for it have waited long enough", async () => {
    const writer = recorder(away);
    const batcher = new Batcher<Row, number>({ name: "t", flush: writer.write, patienceMs: 0 });
    await expect(batcher.add({ id: "x", value: 1 })).rejects.toMatchObject({ code: "database.unavailable" });
    expect(writer.flushes).toHaveLength(1);
  });

  it("a writer that loses count is a defect every row hears of", async () => {
    const batcher = new Batcher<Row, number>({ name: "t", flush: async () => [1] });
    await expect(batcher.addMany(rowsOf(2))).rejects.toThrow(
      'The writer of "t" answered 1 results for 2 rows.',
    );
  });
});

describe("against a real table", () => {
  let test: TestDatabase;
  beforeAll(async () => {
    test = await createTestDatabase();
    const run = (text: string) => test.database.query({ name: "", text }, []);
    await run("create table leases (run_id text primary key, attempt integer not null)");
    await run(
      "create table entries (run_id text, seq integer check (seq >= 0), body text, primary key (run_id, seq))",
    );
    await run("insert into leases values ('mine', 2), ('lost', 5)");
  });
  afterAll(() => test.drop());

  it("fences rows whose lease moved on, fails a row the table refuses, and writes the rest", async () => {
    type Entry = { runId: string; attempt: number; seq: number; body: string };
    const statement = {
      name: "entries_v1",
      text: `with input as (
          select * from unnest($1::text[], $2::integer[], $3::integer[], $4::text[]) with ordinality
            as input(run_id, attempt, seq, body, position)
        ), passed as (
          select input.* from input join leases using (run_id, attempt)
        ), written as (
          insert into entries select run_id, seq, body from passed on conflict do nothing
        )
        select position::integer from passed`,
    };
    const batcher = new Batcher<Entry, boolean>({
      name: "entries",
      keyOf: (row) => `${row.runId}/${row.seq}`,
      flush: async (rows) => {
        const columns = [
          rows.map((r) => r.runId),
          rows.map((r) => r.attempt),
          rows.map((r) => r.seq),
          rows.map((r) => r.body),
        ];
        const passed = await test.database.query<{ position: number }>(statement, columns);
        const positions = new Set(passed.map((row) => row.position));
        return rows.map((_, index) => positions.has(index + 1));
      },
    });
    const entry = (runId: string, attempt: number, seq: number) => ({
      runId,
      attempt,
      seq,
      body: `${runId}-${seq}`,
    });
    const results = await Promise.allSettled(
      [entry("mine", 2, 1), entry("lost", 4, 1), entry("mine", 2, -1), entry("mine", 2, 2)].map((row) =>
        batcher.add(row),
      ),
    );
    expect(results.map((r) => (r.status === "fulfilled" ? r.value : "failed"))).toEqual([
      true,
      false,
      "failed",
      true,
    ]);
    expect(results[2]).toMatchObject({ reason: { code: "23514" } });
    const stored = await test.database.query(
      { name: "", text: "select run_id, seq, body from entries order by seq" },
      [],
    );
    expect(stored).toEqual([
      { run_id: "mine", seq: 1, body: "mine-1" },
      { run_id: "mine", seq: 2, body: "mine-2" },
    ]);
  });
});
