import { sampleChild, samplePost } from "./traces-app.ts";

export type Sent = ReturnType<typeof samplePost>;
export type Event = { kind: "post" | "patch"; run: Record<string, unknown> & { id: string } };
export type Node = {
  post: Sent;
  parent: Node | null;
  type: string;
  tokens: number | null;
  cents: number | null;
};

/** A sequence of numbers that is the same each time: a failure can be repeated. */
export function randomOf(seed: number): (below: number) => number {
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
export function makeTree(random: (below: number) => number): { nodes: Node[]; events: Event[] } {
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

export type Totals = { tokens: number; cost: number | null };

/** What the tree spends, straight from its definition. */
export function expectedOf(node: Node, nodes: readonly Node[]): Totals {
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

export function shuffled<T>(items: readonly T[], random: (below: number) => number): T[] {
  const mixed = [...items];
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = random(at + 1);
    [mixed[at], mixed[other]] = [mixed[other]!, mixed[at]!];
  }
  return mixed;
}
