import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Event,
  expectedOf,
  makeTree,
  type Node,
  randomOf,
  type Sent,
  shuffled,
  type Totals,
} from "../../../tests/support/spending-trees.ts";
import {
  createTracesApp,
  sampleChild,
  samplePost,
  type TracesApp,
} from "../../../tests/support/traces-app.ts";
import { raw } from "../../platform/db/raw.ts";

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject.stop());

async function send(batch: readonly Event[]): Promise<void> {
  const of = (kind: Event["kind"]) => batch.filter((event) => event.kind === kind).map(({ run }) => run);
  const answer = await subject.app.call("POST", "/api/v1/runs/batch", {
    body: { post: of("post"), patch: of("patch") },
  });
  expect(answer).toMatchObject({ status: 202 });
}

async function totalsOf(nodes: readonly Node[]): Promise<Record<string, Totals>> {
  type Shown = { id: string; total_tokens: number; total_cost: string | null };
  const rows = await Promise.all(nodes.map(async ({ post }) => (await subject.run(post.id)) as Shown));
  const cents = (text: string | null) => (text === null ? null : Number(text) * 100);
  return Object.fromEntries(
    rows.map((row) => [row.id, { tokens: Number(row.total_tokens), cost: round(cents(row.total_cost)) }]),
  );
}

const round = (cents: number | null) => (cents === null ? null : Math.round(cents * 1e6) / 1e6);

describe("totals of a tree", () => {
  test.each(Array.from({ length: 60 }, (_, seed) => seed + 1))(
    "do not depend on order, batches, repetition or who came at once (tree %i)",
    async (seed) => {
      const random = randomOf(seed * 7_919);
      const { nodes, events } = makeTree(random);
      const mixed = shuffled(events, random);
      const batches: Event[][] = [];
      while (mixed.length > 0) batches.push(mixed.splice(0, 1 + random(6)));
      const repeated = batches.filter(() => random(4) === 0);
      if (random(2) === 0) await Promise.all([...batches, ...repeated].map(send));
      else for (const batch of [...batches, ...repeated]) await send(batch);
      const expected = Object.fromEntries(nodes.map((node) => [node.post.id, expectedOf(node, nodes)]));
      expect(await totalsOf(nodes)).toEqual(expected);
      const { rows } = await raw`select from trace_parked_usage`.execute(subject.testDatabase.database.sql);
      expect(rows).toEqual([]);
    },
  );

  test("costs are exact: 0.1 and 0.2 make 0.3, in the run, in the statistics and in the filter", async () => {
    const root = samplePost({ session_name: "exact" });
    const call = (cost: number | string) =>
      sampleChild(root, {
        run_type: "llm",
        session_name: "exact",
        outputs: { usage_metadata: { input_tokens: 1, output_tokens: 1, total_cost: cost } },
      });
    await send([{ kind: "post", run: root }]);
    await send([{ kind: "post", run: call(0.1) }]);
    await send([{ kind: "post", run: call("0.2") }]);
    expect(await subject.run(root.id)).toMatchObject({ total_cost: "0.3", total_tokens: 4 });
    const [project] = (await subject.app.call("GET", "/api/v1/sessions?name=exact&include_stats=true"))
      .body as { id: string; total_cost: number }[];
    expect(project?.total_cost).toBe(0.3);
    const stats = await subject.app.call("POST", "/api/v1/runs/stats", { body: { session: [project!.id] } });
    expect(stats.body).toMatchObject({ total_cost: 0.3 });
    const found = await subject.app.call("POST", "/api/v1/runs/query", {
      body: { session: [project!.id], filter: "eq(total_cost, 0.3)" },
    });
    expect((found.body as { runs: { id: string }[] }).runs.map((run) => run.id)).toEqual([root.id]);
  });

  test("a model that is named after its usage gives it its price", async () => {
    const outputs = { usage_metadata: { input_tokens: 1_000, output_tokens: 0 } };
    const extra = { metadata: { ls_provider: "openai", ls_model_name: "gpt-4o" } };
    const [one, other] = [samplePost({ run_type: "llm", extra }), samplePost({ run_type: "llm", extra })];
    const patchOf = ({ id, dotted_order }: Sent): Event => ({
      kind: "patch",
      run: { id, dotted_order, outputs },
    });
    await send([{ kind: "post", run: one }, patchOf(one)]);
    await send([patchOf(other)]);
    await send([{ kind: "post", run: other }]);
    for (const { id } of [one, other]) expect((await subject.run(id))?.total_cost).toBe("0.0025");
  });

  test("runs that are each other's parents end", async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    const run = (id: string, parent: string) => ({
      id,
      name: "loop",
      run_type: "tool",
      start_time: "2026-10-05T10:00:00Z",
      parent_run_id: parent,
      outputs: { usage_metadata: { input_tokens: 1, output_tokens: 0 } },
    });
    await send([{ kind: "post", run: run(one, other) }]);
    await send([{ kind: "post", run: run(other, one) }]);
    await send([{ kind: "post", run: run(one, one) }]);
    const { rows } = await raw`select from trace_parked_usage`.execute(subject.testDatabase.database.sql);
    expect(rows).toEqual([]);
  });
});
