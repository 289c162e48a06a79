import { layoutLayers, type Point } from "./layers.ts";

/** A graph as the server draws it: a node inside a subgraph has the id `outer:inner`. */
export type DrawnGraph = {
  nodes: readonly { id: string; data?: unknown }[];
  edges: readonly { source: string; target: string; conditional?: boolean; data?: unknown }[];
};

export type GraphNode = {
  id: string;
  /** Its own name, without those of the graphs around it. */
  name: string;
  kind: "node" | "start" | "end";
  x: number;
  y: number;
  width: number;
  height: number;
};
/** A subgraph: the box around its nodes. */
export type GraphGroup = { id: string; name: string; depth: number } & Rectangle;
export type GraphLine = {
  id: string;
  points: readonly Point[];
  /** Taken or not as the graph decides while it runs. */
  conditional: boolean;
  label: string | null;
};
type Rectangle = { x: number; y: number; width: number; height: number };
export type GraphLayout = {
  width: number;
  height: number;
  nodes: readonly GraphNode[];
  groups: readonly GraphGroup[];
  lines: readonly GraphLine[];
};

const sizes = {
  node: 44,
  terminal: 26,
  padding: 12,
  header: 24,
  letter: 7.6,
  margin: 40,
  most: 220,
  figures: 90,
};

/** Positions of all nodes. Each subgraph is laid out separately and is one box in the graph around it. */
export function layoutGraph(graph: DrawnGraph): GraphLayout {
  return layoutLevel(treeOf(graph), graph, 0);
}

type Level = { path: string; nodes: string[]; groups: Map<string, Level> };

function treeOf({ nodes }: DrawnGraph): Level {
  const root: Level = { path: "", nodes: [], groups: new Map() };
  for (const { id } of nodes) {
    let level = root;
    const outer = id.split(":").slice(0, -1);
    outer.forEach((name, depth) => {
      const path = outer.slice(0, depth + 1).join(":");
      if (!level.groups.has(name)) level.groups.set(name, { path, nodes: [], groups: new Map() });
      level = level.groups.get(name)!;
    });
    level.nodes.push(id);
  }
  return root;
}

function layoutLevel(level: Level, graph: DrawnGraph, depth: number): GraphLayout {
  const inner = new Map(
    [...level.groups.values()].map((group) => [group.path, layoutLevel(group, graph, depth + 1)]),
  );
  const own = new Set(level.nodes);
  const boxes = [
    ...level.nodes.map((id) => ({ id, ...nodeSize(id) })),
    ...[...inner].map(([id, { width, height }]) => ({
      id,
      width: Math.max(width + 2 * sizes.padding, labelWidth(nameOf(id)) + sizes.figures),
      height: height + 2 * sizes.padding + sizes.header,
    })),
  ];
  const lines = linesOf(level, graph, own);
  const laid = layoutLayers(boxes, lines);
  const nodes: GraphNode[] = [];
  const groups: GraphGroup[] = [];
  const found: GraphLine[] = lines.flatMap(({ id, conditional, label }, at) =>
    laid.routes[at]!.length === 0 ? [] : [{ id, conditional, label, points: laid.routes[at]! }],
  );
  for (const { id, width, height } of boxes) {
    const { x: middle, y } = laid.places.get(id)!;
    const rectangle = { x: middle - width / 2, y, width, height };
    const content = inner.get(id);
    if (!content) {
      nodes.push({ id, name: nameOf(id), kind: kindOf(id), ...rectangle });
      continue;
    }
    groups.push({ id, name: nameOf(id), depth, ...rectangle });
    const by = {
      x: rectangle.x + (width - content.width) / 2,
      y: y + sizes.header + sizes.padding,
    };
    nodes.push(...content.nodes.map((node) => moved(node, by)));
    groups.push(...content.groups.map((group) => moved(group, by)));
    found.push(
      ...content.lines.map((line) => ({ ...line, points: line.points.map((point) => moved(point, by)) })),
    );
  }
  return { width: laid.width, height: laid.height, nodes, groups, lines: found };
}

type LevelLine = { id: string; source: string; target: string; conditional: boolean; label: string | null };

/** The edges between parts of this level: from a node inside a subgraph the line begins at the subgraph's box. */
function linesOf(level: Level, { edges }: DrawnGraph, own: ReadonlySet<string>): LevelLine[] {
  const prefix = level.path === "" ? "" : `${level.path}:`;
  const partOf = (id: string): string | null => {
    if (own.has(id)) return id;
    if (!id.startsWith(prefix)) return null;
    const name = id.slice(prefix.length).split(":")[0]!;
    return level.groups.get(name)?.path ?? null;
  };
  const lines = new Map<string, LevelLine>();
  for (const { source, target, conditional = false, data } of edges) {
    const [from, to] = [partOf(source), partOf(target)];
    // An edge inside one subgraph is drawn there.
    if (from === null || to === null || (from === to && !own.has(from))) continue;
    const id = `${from}>${to}`;
    const label = typeof data === "string" && data !== to ? data : null;
    const known = lines.get(id);
    lines.set(id, {
      ...{ id, source: from, target: to },
      conditional: conditional && (known?.conditional ?? true),
      label: [known?.label, label].filter(Boolean).join(", ") || null,
    });
  }
  return [...lines.values()];
}

function nodeSize(id: string): { width: number; height: number } {
  if (kindOf(id) !== "node") return { width: 64, height: sizes.terminal };
  return { width: Math.min(labelWidth(nameOf(id)), sizes.most), height: sizes.node };
}

const labelWidth = (name: string) => Math.max(128, name.length * sizes.letter + sizes.margin);
const nameOf = (id: string) => id.slice(id.lastIndexOf(":") + 1);

function kindOf(id: string): GraphNode["kind"] {
  const name = nameOf(id);
  return name === "__start__" ? "start" : name === "__end__" ? "end" : "node";
}

function moved<Part extends Point>(part: Part, by: Point): Part {
  return { ...part, x: part.x + by.x, y: part.y + by.y };
}

/** The line as an SVG path: it leaves and arrives upright. */
export function linePath(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let at = first;
  const curves = rest.map((to) => {
    const middle = (at.y + to.y) / 2;
    const curve = `C${round(at.x)} ${round(middle)} ${round(to.x)} ${round(middle)} ${round(to.x)} ${round(to.y)}`;
    at = to;
    return curve;
  });
  return `M${round(first.x)} ${round(first.y)}${curves.join("")}`;
}

const round = (value: number) => Math.round(value * 10) / 10;
