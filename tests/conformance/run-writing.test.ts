import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { parseFilter } from "../../src/traces/filter/parse-filter.ts";
import type { Cursor } from "../../src/traces/storage/run-query.ts";
import { openMigrated } from "../support/both-engines.ts";
import { type ClickHouse as Server, startClickHouse } from "../support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { randomOf, shuffled } from "../support/spending-trees.ts";
import { insertProject } from "../support/trace-rows.ts";
import { dottedTime, sampleChild, samplePost } from "../support/traces-app.ts";
import { type Sent, WrittenRuns } from "../support/written-runs.ts";

/** Each engine has a database of its own for what waits; both know the same projects. */
let server: Server;
let clickHouse: ClickHouse;
let databases: TestDatabase[];
let engines: Record<"PostgreSQL" | "ClickHouse", WrittenRuns>;
const [workspaceId, projectId, second] = [randomUUID(), randomUUID(), randomUUID()];

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  server = await startClickHouse();
  clickHouse = await openMigrated(server);
  databases = [await createTestDatabase(), await createTestDatabase()];
  const [one, other] = databases.map(({ database }) => database);
  for (const { sql } of [one!, other!])
    for (const id of [projectId, second])
      await insertProject(sql, { id, workspace_id: workspaceId, name: id });
  engines = {
    PostgreSQL: WrittenRuns.inPostgres(one!, workspaceId),
    ClickHouse: WrittenRuns.inClickHouse(clickHouse, other!, workspaceId),
  };
}, clickHouseStartLimitMs);
afterAll(async () => {
  await clickHouse?.close();
  await server?.stop();
  for (const each of databases ?? []) await each.drop();
});

const post = (run: Sent["run"], of = projectId): Sent => ({ kind: "post", run, projectId: of });
const patch = (run: Sent["run"], of?: string): Sent => ({ kind: "patch", run, ...(of && { projectId: of }) });

/** What waits for runs that are not stored. */
async function waiting(of: TestDatabase): Promise<{ patches: number; usage: number }> {
  const { rows } = await raw<{ patches: number; usage: number }>`select
    (select count(*)::int from trace_parked_patches) as patches,
    (select count(*)::int from trace_parked_usage) as usage`.execute(of.database.sql);
  return rows[0]!;
}

/** Writes each of the batches to both engines, and compares what they then show. */
async function expectAlike(batches: readonly Sent[][], ids: string[]): Promise<void> {
  for (const batch of batches) for (const engine of Object.values(engines)) await engine.send(...batch);
  const expected = await engines.PostgreSQL.shown(ids);
  expect(await engines.ClickHouse.shown(ids)).toEqual(expected);
}

/** Posts and patches of one run that take it everywhere: to other months and projects, back, and forward again. */
function storyOf(random: (below: number) => number, parents: string[]): { id: string; sent: Sent[] } {
  const id = randomUUID();
  const pick = <T>(...from: T[]): T => from[random(from.length)]!;
  const maybe = (fields: object) => (random(2) === 0 ? fields : {});
  const time = () => `2026-${pick("09", "10")}-0${1 + random(3)}T10:00:0${random(9)}.${100_000 + random(9)}Z`;
  const parent = pick(undefined, ...parents);
  const usage = () => ({
    usage_metadata: { input_tokens: random(9), output_tokens: 1, total_cost: pick(0.1, 0.25) },
  });
  const payloads = () => ({
    ...maybe({
      inputs: pick<unknown>({ asked: random(99) }, null, { deep: { list: [1, "ü\u0001", null] } }),
    }),
    ...maybe({ outputs: pick<unknown>(usage(), null, { said: "x".repeat(random(3_000)) }) }),
    ...maybe({
      extra: pick<unknown>({ metadata: { k: random(5), thread_id: pick("a", "b") } }, null, {
        runtime: { b: 1e21 },
      }),
    }),
    ...maybe({ events: pick<unknown>([{ name: "new_token", time: time() }], null, []) }),
    ...maybe({ serialized: { id: ["a", random(9)] } }),
  });
  const common = () => ({
    ...maybe({ end_time: pick(null, time()) }),
    ...maybe({ error: pick(null, "it 'broke' \\ \n") }),
    ...maybe({ tags: pick<string[]>([], ["one"], ["two", "Ü"]) }),
    ...maybe({ reference_example_id: pick(null, randomUUID()) }),
    ...payloads(),
  });
  const start = time();
  const made = () =>
    post(
      {
        ...{ id, name: pick("made", "made again"), run_type: pick("llm", "tool", "chain") },
        ...{ start_time: pick(start, time()), parent_run_id: parent },
        ...common(),
      },
      pick(projectId, second),
    );
  const changed = () =>
    random(3) === 0 && parent === undefined
      ? patch({ id, dotted_order: `${dottedTime(start)}${id}`, ...common() }, projectId)
      : patch({ id, ...common(), ...maybe({ name: "patched" }) });
  const sent = Array.from({ length: 1 + random(5) }, () => (random(3) === 0 ? made() : changed()));
  return { id, sent: [...sent, made()] };
}

describe("runs that were changed", { timeout: 300_000 }, () => {
  test("are found by what their rows say together, and not by what earlier ones said", async () => {
    const own = randomUUID();
    for (const { database } of databases)
      await insertProject(database.sql, { id: own, workspace_id: workspaceId, name: own });
    const at = (minute: number) => `2026-10-01T10:${String(minute).padStart(2, "0")}:00.000000Z`;
    const made = (minute: number, fields: object) => {
      const { dotted_order: _, trace_id: __, ...run } = samplePost({ start_time: at(minute), ...fields });
      return run;
    };
    const team = { metadata: { team: "red", thread_id: "t1" } };
    const kept = made(1, { inputs: { q: "alpha" }, tags: ["hot"], extra: team });
    const [asked, replaced] = [kept, kept].map(({ id: _, start_time: __, ...same }, index) =>
      made(index + 2, same),
    );
    const cooled = Array.from({ length: 12 }, (_, index) => made(index + 10, { tags: ["hot"] }));
    for (const engine of Object.values(engines)) {
      await engine.send(...[kept, asked!, replaced!, ...cooled].map((run) => post(run, own)));
      await engine.send(
        patch({ id: asked!.id, outputs: { a: "beta Kelvin" }, tags: ["hot", "new"] }),
        patch({ id: replaced!.id, inputs: { q: "gamma" }, extra: { metadata: { team: "blue" } } }),
        ...cooled.map(({ id }) => patch({ id, tags: ["cold"] })),
      );
    }
    const names = new Map([kept, asked!, replaced!].map(({ id }, index) => [id, index + 1]));
    const found = async (engine: WrittenRuns, filter: string, limit: number) => {
      const ids: string[] = [];
      for (let after: Cursor | undefined | null; after !== null; ) {
        const query = { workspaceId, projectIds: [own], filter: parseFilter(filter) };
        const page = await engine.reading.find(query, { limit, order: "desc", after }, new Set(["name"]));
        ids.push(...page.rows.map(({ id }) => id));
        after = page.next;
      }
      return ids.map((id) => names.get(id) ?? "cooled");
    };
    for (const [filter, expected] of [
      ['search("alpha")', [2, 1]],
      ['search("alpha beta")', [2]],
      ['search("KELVIN")', [2]],
      ['search(inputs, "alpha")', [2, 1]],
      ['search("gamma")', [3]],
      ['and(search("alpha"), has(tags, "new"))', [2]],
      ['and(search("gamma"), has(tags, "new"))', []],
      ['has(tags, "hot")', [3, 2, 1]],
      ['and(has(tags, "hot"), search("beta"))', [2]],
      ['and(eq(metadata_key, "team"), eq(metadata_value, "red"))', [2, 1]],
      ['and(eq(metadata_key, "team"), eq(metadata_value, "blue"), has(tags, "hot"))', [3]],
      ['eq(thread_id, "t1")', [3, 2, 1]],
      ['and(eq(thread_id, "t1"), neq(run_type, "none"), search("alpha"))', [2, 1]],
    ] as const)
      for (const engine of Object.values(engines))
        for (const limit of [1, 50]) expect(await found(engine, filter, limit)).toEqual(expected);
  });
});

describe("writing runs", { timeout: 300_000 }, () => {
  test.each(Array.from({ length: 15 }, (_, seed) => seed + 1))(
    "ends alike in both engines, whatever is sent (story %i)",
    async (seed) => {
      const random = randomOf(seed * 104_729);
      const stories: ReturnType<typeof storyOf>[] = [];
      for (let n = 1 + random(5); n > 0; n--)
        stories.push(
          storyOf(
            random,
            stories.map(({ id }) => id),
          ),
        );
      const sent = shuffled(
        stories.flatMap((story) => story.sent),
        random,
      );
      const batches: Sent[][] = [];
      while (sent.length > 0) batches.push(sent.splice(0, 1 + random(4)));
      await expectAlike(
        batches,
        stories.map(({ id }) => id),
      );
      expect(await waiting(databases[1]!)).toEqual(await waiting(databases[0]!));
    },
  );
});

describe.each(["PostgreSQL", "ClickHouse"] as const)(
  "totals of a tree in %s",
  { timeout: 300_000 },
  (name) => {
    test("of runs in different months", async () => {
      const root = samplePost({ start_time: "2026-10-31T23:59:59.000000Z" });
      const outputs = { usage_metadata: { input_tokens: 3, output_tokens: 4, total_cost: 0.1 } };
      const call = (start_time: string) => sampleChild(root, { run_type: "llm", start_time, outputs });
      const calls = ["2026-11-01T00:00:00.000000Z", "2026-12-01T00:00:00.000000Z"].map(call);
      const engine = engines[name];
      await engine.send(post(root), post(calls[0]!));
      await engine.send(post(calls[1]!));
      await engine.send(...calls.map((each) => post(each)), post(root));
      expect(await engine.shown([root.id])).toMatchObject([{ total_tokens: 14, total_cost: "0.2" }]);
    });
  },
);

describe.each(["PostgreSQL", "ClickHouse"] as const)("what waits in %s", { timeout: 300_000 }, (name) => {
  const place = () => databases[name === "PostgreSQL" ? 0 : 1]!;

  test("a patch waits for its run, unless that comes in a project its sender may not write to", async () => {
    const engine = engines[name];
    const [own, foreign] = [samplePost(), samplePost()];
    const before = await waiting(place());
    for (const { id } of [own, foreign])
      await engine.writer.add(engine.change(patch({ id, outputs: { early: true } }), second));
    expect(await waiting(place())).toMatchObject({ patches: before.patches + 2 });
    await engine.send(post(own, second), post(foreign));
    expect(await waiting(place())).toEqual(before);
    expect(await engine.shown([own.id])).toMatchObject([{ outputs: { early: true } }]);
    expect(await engine.shown([foreign.id])).toMatchObject([{ outputs: null }]);
    for (const sent of [patch({ id: foreign.id, error: "x" }), post({ ...foreign, name: "x" }, second)])
      expect(await engine.writer.add(engine.change(sent, second))).toBe(false);
    expect(await engine.writer.add(engine.change(patch({ id: own.id, error: "x" }), second))).toBe(true);
    expect(await engine.shown([foreign.id])).toMatchObject([{ error: null, name: "root" }]);
    expect(await engine.shown([own.id])).toMatchObject([{ error: "x" }]);
  });

  test("is found when its run came after all, and forgotten in time", async () => {
    const engine = engines[name];
    const [stored, absent] = [samplePost(), samplePost()];
    await engine.send(post(stored), patch({ id: absent.id, error: "x" }));
    const { rows } = await raw<{
      patch: string;
    }>`select patch from trace_parked_patches where run_id = ${absent.id}`.execute(place().database.sql);
    await raw`insert into trace_parked_patches (run_id, workspace_id, patch)
      values (${stored.id}, ${workspaceId}, ${rows[0]!.patch})`.execute(place().database.sql);
    const overtaken = [{ id: stored.id, workspaceId }];
    expect(await engine.writing.listOvertaken(10)).toEqual(overtaken);
    expect(await engine.writing.listOvertaken(10, new Date(Date.now() - 3_600_000))).toEqual(overtaken);
    await engine.send(patch({ id: stored.id }));
    expect(await engine.shown([stored.id])).toMatchObject([{ error: "x" }]);
    expect(await engine.writing.listOvertaken(10)).toEqual([]);
    await engine.writing.forgetWaiting(new Date(Date.now() - 3_600_000));
    expect((await waiting(place())).patches).toBeGreaterThan(0);
    await engine.writing.forgetWaiting(new Date(Date.now() + 3_600_000));
    expect(await waiting(place())).toEqual({ patches: 0, usage: 0 });
  });
});

describe("traces whose root comes late", { timeout: 300_000 }, () => {
  /** As OpenTelemetry sends them: children know the run of their root by its span, and the trace has another id. */
  function spansOf(random: (below: number) => number): { root: Sent; others: Sent[]; spanRunId: string } {
    const [traceId, spanRunId] = [randomUUID(), randomUUID()];
    const start_time = "2026-10-05T10:00:00.000000Z";
    const above = [spanRunId];
    const others = Array.from({ length: 1 + random(6) }, () => {
      const id = randomUUID();
      const parent_run_id = above[random(above.length)]!;
      above.push(id);
      const outputs = random(3) > 0 ? { usage_metadata: { input_tokens: random(9), output_tokens: 1 } } : {};
      return post({ id, trace_id: traceId, parent_run_id, name: "s", run_type: "tool", start_time, outputs });
    });
    const extra = { metadata: { OTEL_SPAN_ID: spanRunId } };
    const root = post({ id: traceId, trace_id: traceId, name: "root", run_type: "chain", start_time, extra });
    return { root, others, spanRunId };
  }

  test.each(Array.from({ length: 8 }, (_, seed) => seed + 1))(
    "are put together alike in both engines (trace %i)",
    async (seed) => {
      const random = randomOf(seed * 49_979_687);
      const { root, others, spanRunId } = spansOf(random);
      const traceId = root.run.id;
      const mixed = shuffled([...others, root], random);
      const batches: Sent[][] = [];
      while (mixed.length > 0) batches.push(mixed.splice(0, 1 + random(3)));
      for (const engine of Object.values(engines)) {
        for (const batch of batches) {
          await engine.send(...batch);
          const stored = await engine.writing.findRootSpans(workspaceId, [traceId, randomUUID()]);
          expect([...stored]).toEqual(batch.includes(root) || stored.size > 0 ? [[traceId, spanRunId]] : []);
          if (stored.size > 0) await engine.writing.relink(workspaceId, [{ traceId, spanRunId }]);
        }
      }
      const ids = [root, ...others].map(({ run }) => run.id);
      const shown = await engines.ClickHouse.shown(ids);
      expect(shown).toEqual(await engines.PostgreSQL.shown(ids));
      const tokens = others
        .map(({ run }) => (run.outputs as { usage_metadata?: { input_tokens: number } }).usage_metadata)
        .reduce((sum, usage) => sum + (usage ? usage.input_tokens + 1 : 0), 0);
      expect(shown.find(({ id }) => id === traceId)).toMatchObject({ total_tokens: tokens, is_root: true });
      expect(await waiting(databases[1]!)).toEqual({ patches: 0, usage: 0 });
    },
  );
});

describe("content", { timeout: 300_000 }, () => {
  test("metadata is spelled alike in both engines", async () => {
    const metadata = {
      ...{ zz: 1, a: [1, "x", null, { b: 1, aa: 2 }], ü: '\u0001\n"\\ ü 🙂', "": true, empty: {}, none: [] },
      ...{ large: 1e21, tiny: 1.5e-7, long: 123456789012345680000, half: -0.5, small: -1e-9, huge: 1.25e30 },
    };
    const run = samplePost({ extra: { metadata } });
    await expectAlike([[post(run)]], [run.id]);
    const spelled = await Promise.all(
      Object.values(engines).map(async ({ reading }) => {
        const page = { limit: 1, order: "asc" } as const;
        return (await reading.find({ workspaceId, ids: [run.id] }, page, new Set(["metadata"]))).rows[0]!
          .metadata;
      }),
    );
    expect(spelled[1]).toBe(spelled[0]);
  });

  test("that is cut in the middle of a letter is stored alike in both engines", async () => {
    const long = `${"x".repeat(499)}🙂`;
    const run = samplePost({
      ...{ name: long, run_type: `${"x".repeat(99)}🙂`, tags: [long], error: "half \ud83d" },
      extra: { metadata: { thread_id: long, half: "\ud83d" } },
    });
    await expectAlike([[post(run)]], [run.id]);
    const cut = `${"x".repeat(499)}\ufffd`;
    expect(await engines.ClickHouse.shown([run.id])).toMatchObject([
      { name: cut, tags: [cut], thread_id: cut, error: "half \ufffd" },
    ]);
  });

  test("that ClickHouse cannot hold is refused by name, and the rest of its batch is stored", async () => {
    const engine = engines.ClickHouse;
    const good = samplePost();
    const refused: [Sent["run"], string][] = [
      [samplePost({ start_time: "1850-01-01T00:00:00.000000Z" }), "years from 1900 to 2299"],
      [samplePost({ end_time: "2300-01-01T00:00:00.000000Z" }), "years from 1900 to 2299"],
      [samplePost({ events: [{ name: "new_token", time: "1899-12-31T00:00:00Z" }] }), "first token"],
    ];
    const all = [good, ...refused.map(([run]) => run)];
    const settled = await Promise.allSettled(all.map((run) => engine.send(post(run))));
    expect(settled[0]).toMatchObject({ status: "fulfilled" });
    for (const [index, [run, why]] of refused.entries()) {
      expect(settled[index + 1]).toMatchObject({
        reason: { code: "traces.not_storable", message: expect.stringContaining(run.id) as string },
      });
      expect((settled[index + 1] as PromiseRejectedResult).reason).toMatchObject({
        message: expect.stringContaining(why) as string,
      });
    }
    expect((await engine.shown(all.map(({ id }) => id))).map(({ id }) => id)).toEqual([good.id]);
  });
});
