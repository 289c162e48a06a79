import type { Params, Result, Router } from "hono/router";

type Node<T> = {
  statics: Map<string, Node<T>>;
  param: Node<T> | undefined;
  /** Per method: what answers here, and the names of the parameters on the way. */
  leaves: Map<string, Leaf<T>>;
  rest: Map<string, Leaf<T>>;
};
type Leaf<T> = { target: T; names: string[] };

/**
 * Routes by path segment, independent of the order of registration: a fixed segment wins over a parameter, a parameter
 * over `*`, and a dead end goes back to the next choice. At most one target answers, so a request never pays for
 * composing several. A trailing slash is the same path.
 */
export class PathRouter<T> implements Router<T> {
  readonly name = "PathRouter";
  #root: Node<T> = newNode();
  /** Paths without parameters, which most requests could be answered from at once. */
  #fixed = new Map<string, Map<string, Leaf<T>>>();

  add(method: string, path: string, target: T): void {
    const names: string[] = [];
    let node = this.#root;
    let isFixed = true;
    const segments = segmentsOf(path);
    for (const [index, segment] of segments.entries()) {
      const name = /^:([\w.-]+)$/.exec(segment)?.[1];
      if (segment === "*") {
        if (index !== segments.length - 1) throw new Error(`${path}: only the last segment may be *`);
        put(node.rest, method, { target, names: [...names, "*"] }, path);
        return;
      }
      if (name === undefined) {
        let next = node.statics.get(segment);
        if (!next) {
          next = newNode();
          node.statics.set(segment, next);
        }
        node = next;
      } else {
        names.push(name);
        isFixed = false;
        node.param ??= newNode();
        node = node.param;
      }
    }
    put(node.leaves, method, { target, names }, path);
    if (isFixed) this.#fixed.set(`/${segments.join("/")}`, node.leaves);
  }

  match(method: string, path: string): Result<T> {
    const fixed = this.#fixed.get(path)?.get(method);
    if (fixed) return [[[fixed.target, noParams]]];
    const segments = segmentsOf(path);
    const values: string[] = [];
    const leaf = find(this.#root, segments, 0, method, values);
    if (!leaf) return [[]];
    const params: Params = {};
    for (const [index, name] of leaf.names.entries()) {
      params[name] = name === "*" ? restOf(path, index, segments, values) : values[index]!;
    }
    return [[[leaf.target, params]]];
  }

  /** The methods that would answer at this path, for 405 and OPTIONS. */
  methodsAt(path: string): string[] {
    const found = new Set<string>();
    collect(this.#root, segmentsOf(path), 0, found);
    return [...found].sort();
  }
}

const noParams: Params = {};

function newNode<T>(): Node<T> {
  return { statics: new Map(), param: undefined, leaves: new Map(), rest: new Map() };
}

function put<T>(leaves: Map<string, Leaf<T>>, method: string, leaf: Leaf<T>, path: string): void {
  if (leaves.has(method)) throw new Error(`${method} ${path} is registered twice`);
  leaves.set(method, leaf);
}

function segmentsOf(path: string): string[] {
  const end = path.length > 1 && path.endsWith("/") ? path.length - 1 : path.length;
  return end <= 1 ? [] : path.slice(1, end).split("/");
}

/** Depth first; `values` holds the parameters of the branch being tried. */
function find<T>(
  node: Node<T>,
  segments: string[],
  index: number,
  method: string,
  values: string[],
): Leaf<T> | undefined {
  if (index === segments.length) {
    const leaf = node.leaves.get(method);
    if (leaf) return leaf;
  } else {
    const segment = segments[index]!;
    const next = node.statics.get(segment) ?? node.statics.get(decoded(segment));
    if (next) {
      const leaf = find(next, segments, index + 1, method, values);
      if (leaf) return leaf;
    }
    if (node.param && segment !== "") {
      values.push(segment);
      const leaf = find(node.param, segments, index + 1, method, values);
      if (leaf) return leaf;
      values.pop();
    }
  }
  const rest = node.rest.get(method);
  if (rest) values.push(String(index));
  return rest;
}

/** The remainder as it was sent, with its trailing slash; `find` left the segment it starts at in `values`. */
function restOf(path: string, index: number, segments: string[], values: string[]): string {
  const start = Number(values[index]);
  let offset = 1;
  for (let i = 0; i < start; i++) offset += segments[i]!.length + 1;
  return path.slice(offset);
}

function collect<T>(node: Node<T>, segments: string[], index: number, found: Set<string>): void {
  for (const method of node.rest.keys()) found.add(method);
  if (index === segments.length) {
    for (const method of node.leaves.keys()) found.add(method);
    return;
  }
  const segment = segments[index]!;
  const next = node.statics.get(segment) ?? node.statics.get(decoded(segment));
  if (next) collect(next, segments, index + 1, found);
  if (node.param && segment !== "") collect(node.param, segments, index + 1, found);
}

function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    // Malformed: it equals no fixed segment, and the request is refused before a handler sees it.
    return segment;
  }
}

/** `{id}` to `:id`, `{rest*}` to `*`. */
export function routerPath(path: string): string {
  return path.replace(/\{([\w.-]+)\*\}/g, "*").replace(/\{([\w.-]+)\}/g, ":$1");
}

export function restName(path: string): string | undefined {
  return /\{([\w.-]+)\*\}$/.exec(path)?.[1];
}
