import { describe, expect, it } from "vitest";
import { type DrawnGraph, layoutGraph, linePath } from "./graph-layout.ts";

const graph = (ids: string[], edges: string[]): DrawnGraph => ({
  nodes: ids.map((id) => ({ id })),
  edges: edges.map((text) => {
    const [source, target] = text.replace("?", "").split(">") as [string, string];
    return { source, target, conditional: text.endsWith("?") };
  }),
});

const agent = graph(
  ["__start__", "agent", "tools:__start__", "tools:researcher", "tools:__end__", "__end__"],
  [
    "__start__>agent",
    "agent>tools:__start__?",
    "tools:__start__>tools:researcher",
    "tools:researcher>tools:__end__",
    "tools:__end__>agent",
    "agent>__end__?",
  ],
);

describe("a graph with a subgraph", () => {
  const laid = layoutGraph(agent);

  it("has a box around the subgraph, with its nodes inside", () => {
    const [tools] = laid.groups;
    expect(laid.groups).toHaveLength(1);
    expect(tools).toMatchObject({ id: "tools", name: "tools" });
    const inner = laid.nodes.filter(({ id }) => id.startsWith("tools:"));
    expect(inner).toHaveLength(3);
    for (const node of inner) {
      expect(node.x).toBeGreaterThanOrEqual(tools!.x);
      expect(node.y).toBeGreaterThanOrEqual(tools!.y);
      expect(node.x + node.width).toBeLessThanOrEqual(tools!.x + tools!.width);
      expect(node.y + node.height).toBeLessThanOrEqual(tools!.y + tools!.height);
    }
  });

  it("leads its lines to the box, and draws each once", () => {
    expect(laid.lines.map(({ id }) => id).sort()).toEqual([
      "__start__>agent",
      "agent>__end__",
      "agent>tools",
      "tools:__start__>tools:researcher",
      "tools:researcher>tools:__end__",
      "tools>agent",
    ]);
    expect(laid.lines.find(({ id }) => id === "agent>tools")!.conditional).toBe(true);
  });

  it("names what begins and ends it", () => {
    expect(laid.nodes.filter(({ kind }) => kind === "start").map(({ id }) => id)).toEqual([
      "__start__",
      "tools:__start__",
    ]);
  });
});

it("two hundred nodes have a place each, and none lies over another", () => {
  const ids = Array.from({ length: 200 }, (_, at) => `node${at}`);
  const edges = ids.flatMap((id, at) => [
    `${id}>node${(at * 7 + 3) % 200}`,
    `${id}>node${Math.min(at + 1 + (at % 5), 199)}`,
  ]);
  const { nodes, width, height } = layoutGraph(graph(ids, edges));
  expect(nodes).toHaveLength(200);
  const overlapping = nodes.flatMap((one, at) =>
    nodes
      .slice(at + 1)
      .filter(
        (other) =>
          one.x + one.width > other.x &&
          other.x + other.width > one.x &&
          one.y + one.height > other.y &&
          other.y + other.height > one.y,
      )
      .map((other) => `${one.id} and ${other.id}`),
  );
  expect(overlapping).toEqual([]);
  for (const { x, y } of nodes) {
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x).toBeLessThanOrEqual(width);
    expect(y).toBeLessThanOrEqual(height);
  }
});

it("labels of several edges between two boxes stand together", () => {
  const { lines } = layoutGraph({
    nodes: [{ id: "a" }, { id: "b" }],
    edges: [
      { source: "a", target: "b", conditional: true, data: "yes" },
      { source: "a", target: "b", conditional: true, data: "maybe" },
    ],
  });
  expect(lines).toMatchObject([{ label: "yes, maybe", conditional: true }]);
});

it("a line leaves and arrives upright", () => {
  expect(
    linePath([
      { x: 0, y: 0 },
      { x: 10, y: 20 },
    ]),
  ).toBe("M0 0C0 10 10 10 10 20");
  expect(linePath([])).toBe("");
});
