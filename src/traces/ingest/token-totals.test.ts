import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

type Sent = ReturnType<typeof samplePost>;
type Event = { kind: "post" | "patch"; run: Record<string, unknown> & { id: string } };
type Node = { post: Sent; parent: Node | null; type: string; tokens: number | null; cents: number | null };

/** A sequence of numbers that is the same each time: a failure can be repeated. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

const usageOf = ({ tokens, cents }: Pick<Node, "tokens" | "cents">) => ({
  usage_metadata: {
    input_tokens: tokens,
    output_tokens: 1,
    total_tokens: tokens! + 1,
    ...(cents !== null && { total_cost: cents / 100 }),
  },
});

/** A tree, and every post and patch that makes it. Some runs name only their parent, some have a dotted order. */
function makeTree(random: (below: number) => number): { nodes: Node[]; events: Event[] } {
  const withOrders = random(2) === 0;
  const nodes: Node[] = [];
  const events: Event[] = [];
  const size = 2 + random(12);
  for (let index = 0; index < size; index++) {
    const parent = index === 0 ? null : nodes[random(nodes.length)]!;
    const type = ["llm", "chain", "tool", "llm"][random(4)]!;
    const full = parent ? sampleChild(parent.post, { run_type: type }) : samplePost({ run_type: type });
    const { dotted_order, trace_id, ...bare } = full;
    const post = withOrders ? full : { ...bare, trace_id: parent ? undefined : trace_id };
    const spends = random(3) > 0;
    const node: Node = {
      post: full,
      parent,
      type,
      tokens: spends ? random(50) : null,
      cents: spends && random(2) > 0 ? random(30) : null,
    };
    nodes.push(node);
    const first = { ...node, tokens: 7, cents: random(2) > 0 ? 3 : null };
    const startsWith = random(3);
    events.push({
      kind: "post",
      run: { ...post, ...(spends && startsWith === 0 && { outputs: usageOf(first) }) } as Event["run"],
    });
    if (spends) {
      const place = withOrders ? { dotted_order, trace_id } : {};
      events.push({ kind: "patch", run: { id: full.id, ...place, outputs: usageOf(node) } });
    }
    if (random(4) === 0) events.push({ kind: "post", run: { ...post } as Event["run"] });
  }
  return { nodes, events };
}

type Totals = { tokens: number; cost: number | null };

/** What the tree spends, straight from its definition. */
function expectedOf(node: Node, nodes: readonly Node[]): Totals {
  const counts = node.type !== "chain" && node.tokens !== null;
  const own = counts
    ? { tokens: node.tokens! + 1, cost: node.cents === null ? null : node.cents }
    : { tokens: 0, cost: null };
  if (node.type === "llm" && counts) return own;
  let { tokens, cost } = own as Totals;
  for (const child of nodes.filter((each) => each.parent === node)) {
    const below = expectedOf(child, nodes);
    tokens += below.tokens;
    if (below.cost !== null) cost = (cost ?? 0) + below.cost;
  }
  return { tokens, cost };
}

function shuffled<T>(items: readonly T[], random: (below: number) => number): T[] {
  const mixed = [...items];
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = random(at + 1);
    [mixed[at], mixed[other]] = [mixed[other]!, mixed[at]!];
  }
  return mixed;
}

async function send(batch: readonly Event[]): Promise<void> {
  const of = (kind: Event["kind"]) => batch.filter((event) => event.kind === kind).map(({ run }) => run);
  const answer = await subject.app.call("POST", "/api/v1/runs/batch", {
    body: { post: of("post"), patch: of("patch") },
  });
  expect(answer).toMatchObject({ status: 202 });
}

async function totalsOf(nodes: readonly Node[]): Promise<Record<string, Totals>> {
  const ids = nodes.map((node) => node.post.id);
  const { rows } = await raw<{ id: string; total_tokens: number; total_cost: string | null }>`
    select id, total_tokens, total_cost from trace_runs where id = any(${ids}::uuid[])`.execute(
    subject.testDatabase.database.sql,
  );
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
