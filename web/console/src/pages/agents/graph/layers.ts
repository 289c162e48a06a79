/** Boxes in layers from top to bottom, and the lines between them: a small layered layout, for hundreds of boxes. */
export type Box = { id: string; width: number; height: number };
export type Link = { source: string; target: string };
export type Point = { x: number; y: number };
export type Layers = {
  width: number;
  height: number;
  /** The middle of the upper edge of each box. */
  places: ReadonlyMap<string, Point>;
  /** For each link, the points its line goes through; empty for a link of a box to itself. */
  routes: readonly (readonly Point[])[];
};

const gap = { across: 28, down: 32 };
const sweeps = 8;

/** A box, or the place in between where a long link passes a layer. */
type Cell = { layer: number; width: number; height: number; above: Joint[]; below: Joint[]; x: number };
type Joint = { cell: number; link: number };

export function layoutLayers(boxes: readonly Box[], links: readonly Link[]): Layers {
  const index = new Map(boxes.map(({ id }, place) => [id, place]));
  const ends = links.map(({ source, target }) => [index.get(source)!, index.get(target)!] as const);
  const turned = turnedLinks(boxes.length, ends);
  const down = ends.map(([from, to], link) =>
    turned.has(link) ? ([to, from] as const) : ([from, to] as const),
  );
  const cells = boxes.map(
    ({ width, height }): Cell => ({ layer: 0, width, height, above: [], below: [], x: 0 }),
  );
  layerNumbers(boxes.length, down).forEach((layer, place) => {
    cells[place]!.layer = layer;
  });
  const chains = down.map(([from, to], link) => (from === to ? [] : chain(cells, from, to, link)));
  const rows = rowsOf(cells);
  for (let sweep = 0; sweep < sweeps; sweep++) orderRows(cells, rows, sweep % 2 === 0);
  placeAcross(cells, rows);
  const tops = rowTops(cells, rows);
  const left = Math.min(0, ...cells.map(({ x, width }) => x - width / 2));
  for (const cell of cells) cell.x -= left;
  const place = (cell: number) => ({ x: cells[cell]!.x, y: tops[cells[cell]!.layer]! });
  const last = rows.length - 1;
  return {
    width: Math.max(0, ...cells.map(({ x, width }) => x + width / 2)),
    height: rows.length === 0 ? 0 : tops[last]! + rowHeight(cells, rows[last]!),
    places: new Map(boxes.map(({ id }, box) => [id, place(box)])),
    routes: chains.map((cellsOfLink, link) => {
      const points = route(cells, tops, cellsOfLink, link);
      return turned.has(link) ? points.reverse() : points;
    }),
  };
}

/** The links that lead back up: without them there is no circle. */
function turnedLinks(count: number, ends: readonly (readonly [number, number])[]): Set<number> {
  const out: number[][] = Array.from({ length: count }, () => []);
  ends.forEach(([from, to], link) => {
    if (from !== to) out[from]!.push(link);
  });
  const turned = new Set<number>();
  const state = new Uint8Array(count);
  for (let root = 0; root < count; root++) {
    if (state[root] !== 0) continue;
    const trail: { node: number; next: number }[] = [{ node: root, next: 0 }];
    state[root] = 1;
    while (trail.length > 0) {
      const top = trail.at(-1)!;
      const link = out[top.node]![top.next++];
      if (link === undefined) {
        state[top.node] = 2;
        trail.pop();
        continue;
      }
      const to = ends[link]![1];
      if (state[to] === 1) turned.add(link);
      else if (state[to] === 0) {
        state[to] = 1;
        trail.push({ node: to, next: 0 });
      }
    }
  }
  return turned;
}

/** Each below all that lead to it. */
function layerNumbers(count: number, down: readonly (readonly [number, number])[]): number[] {
  const layers = new Array<number>(count).fill(0);
  const waiting = new Array<number>(count).fill(0);
  const out: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to] of down) {
    if (from === to) continue;
    out[from]!.push(to);
    waiting[to]!++;
  }
  const ready = waiting.flatMap((left, node) => (left === 0 ? [node] : []));
  for (let node = ready.shift(); node !== undefined; node = ready.shift()) {
    for (const to of out[node]!) {
      layers[to] = Math.max(layers[to]!, layers[node]! + 1);
      waiting[to]!--;
      if (waiting[to] === 0) ready.push(to);
    }
  }
  return layers;
}

/** The cells a link passes, with a place in every layer between its ends. */
function chain(cells: Cell[], from: number, to: number, link: number): number[] {
  const passed = [from];
  for (let layer = cells[from]!.layer + 1; layer < cells[to]!.layer; layer++) {
    cells.push({ layer, width: 10, height: 0, above: [], below: [], x: 0 });
    passed.push(cells.length - 1);
  }
  passed.push(to);
  for (let step = 1; step < passed.length; step++) {
    cells[passed[step - 1]!]!.below.push({ cell: passed[step]!, link });
    cells[passed[step]!]!.above.push({ cell: passed[step - 1]!, link });
  }
  return passed;
}

function rowsOf(cells: readonly Cell[]): number[][] {
  const rows: number[][] = [];
  cells.forEach(({ layer }, cell) => {
    rows[layer] ??= [];
    rows[layer].push(cell);
  });
  return Array.from(rows, (row) => row ?? []);
}

/** Each cell goes to the middle of those it is linked with in the row before: few lines cross then. */
function orderRows(cells: readonly Cell[], rows: number[][], downwards: boolean): void {
  const place = new Float64Array(cells.length);
  const note = (row: readonly number[]) => {
    for (const [at, cell] of row.entries()) place[cell] = at;
  };
  rows.forEach(note);
  const order = downwards ? rows : [...rows].reverse();
  for (const row of order) {
    const wanted = new Map(
      row.map((cell) => {
        const { above, below } = cells[cell]!;
        const linked = downwards ? above : below;
        return [
          cell,
          linked.length === 0 ? place[cell]! : mean(linked.map(({ cell: other }) => place[other]!)),
        ];
      }),
    );
    row.sort((a, b) => wanted.get(a)! - wanted.get(b)! || place[a]! - place[b]!);
    note(row);
  }
}

function placeAcross(cells: Cell[], rows: readonly number[][]): void {
  for (const row of rows) {
    let x = 0;
    for (const cell of row) {
      cells[cell]!.x = x + cells[cell]!.width / 2;
      x += cells[cell]!.width + gap.across;
    }
  }
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const downwards = sweep % 2 === 0;
    for (const row of downwards ? rows : [...rows].reverse()) {
      const wanted = row.map((cell) => {
        const { above, below, x } = cells[cell]!;
        const linked = downwards ? above : below;
        return linked.length === 0 ? x : mean(linked.map(({ cell: other }) => cells[other]!.x));
      });
      const apart = row.map((cell, at) =>
        at === 0 ? 0 : (cells[row[at - 1]!]!.width + cells[cell]!.width) / 2 + gap.across,
      );
      nearest(wanted, apart).forEach((x, at) => {
        cells[row[at]!]!.x = x;
      });
    }
  }
}

/** The places nearest to those wanted that keep their order and are that far apart. */
export function nearest(wanted: readonly number[], apart: readonly number[]): number[] {
  let offset = 0;
  const offsets = apart.map((distance) => {
    offset += distance;
    return offset;
  });
  const blocks: { sum: number; count: number }[] = [];
  wanted.forEach((x, at) => {
    blocks.push({ sum: x - offsets[at]!, count: 1 });
    while (blocks.length > 1) {
      const [before, last] = [blocks.at(-2)!, blocks.at(-1)!];
      if (before.sum / before.count <= last.sum / last.count) break;
      blocks.splice(-2, 2, { sum: before.sum + last.sum, count: before.count + last.count });
    }
  });
  const middles = blocks.flatMap(({ sum, count }) => new Array<number>(count).fill(sum / count));
  return middles.map((x, at) => x + offsets[at]!);
}

function rowTops(cells: readonly Cell[], rows: readonly number[][]): number[] {
  let top = 0;
  return rows.map((row) => {
    const here = top;
    top += rowHeight(cells, row) + gap.down;
    return here;
  });
}

const rowHeight = (cells: readonly Cell[], row: readonly number[]) =>
  Math.max(0, ...row.map((cell) => cells[cell]!.height));

function route(
  cells: readonly Cell[],
  tops: readonly number[],
  passed: readonly number[],
  link: number,
): Point[] {
  return passed.map((cell, step): Point => {
    const { layer, height, x } = cells[cell]!;
    const top = tops[layer]!;
    if (step === 0) return { x: port(cells, cell, "below", link), y: top + height };
    if (step === passed.length - 1) return { x: port(cells, cell, "above", link), y: top };
    return { x, y: top };
  });
}

/** Lines that meet at a box do so side by side, in the order they come from. */
function port(cells: readonly Cell[], cell: number, side: "above" | "below", link: number): number {
  const joints = [...cells[cell]![side]].sort(
    (a, b) => cells[a.cell]!.x - cells[b.cell]!.x || a.link - b.link,
  );
  const step = Math.min(18, cells[cell]!.width / (joints.length + 1));
  const at = joints.findIndex((joint) => joint.link === link);
  return cells[cell]!.x + (at - (joints.length - 1) / 2) * step;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}
