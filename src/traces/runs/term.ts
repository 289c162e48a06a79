/** What a pair belongs to; `tag` pairs have an empty key. */
export type TermSource = "metadata" | "inputs" | "outputs" | "tag";

/** Caps of the filter language: pairs per payload, characters per value. */
export const maxPairs = 100;
export const maxValueChars = 250;

/**
 * The hash under which `trace_runs.terms` finds a pair. It narrows the search only: hashes collide, so the
 * exact predicate is checked as well. Changing it makes every stored row unfindable by its terms.
 */
export function pairTerm(source: TermSource, key: string, value: string): number {
  let hash = fnvOffset;
  hash = mix(hash, source);
  hash = mix(hash, "\0");
  hash = mix(hash, key);
  hash = mix(hash, "\0");
  return mix(hash, value) | 0;
}

export function tagTerm(tag: string): number {
  return pairTerm("tag", "", tag);
}

export type Pair = readonly [key: string, value: string];

/**
 * The pairs of a payload: dotted paths, array indices dropped, one per leaf, values as text and cut, as
 * `trace_pairs` in the database gives them.
 */
export function pairsOf(payload: unknown): Pair[] {
  const pairs: Pair[] = [];
  collect(payload, "", pairs, 0);
  return pairs;
}

const maxDepth = 32;

function collect(node: unknown, path: string, pairs: Pair[], depth: number): void {
  if (pairs.length >= maxPairs || depth > maxDepth || node === null || node === undefined) return;
  if (typeof node !== "object") {
    pairs.push([path, String(node).slice(0, maxValueChars)]);
    return;
  }
  if (Array.isArray(node)) {
    for (const item of node) collect(item, path, pairs, depth + 1);
    return;
  }
  for (const key in node) {
    const inner = path === "" ? key : `${path}.${key}`;
    collect((node as Record<string, unknown>)[key], inner, pairs, depth + 1);
  }
}

/**
 * The terms of `pairsOf(payload)`, into `terms`. The hash of a path continues the hash of the path above it, so
 * that no path is spelled out: this runs for every run that comes in.
 */
export function addTerms(source: TermSource, payload: unknown, terms: Set<number>): void {
  walkTerms(payload, mix(mix(fnvOffset, source), "\0"), true, 0, { terms, left: maxPairs });
}

type TermWalk = { terms: Set<number>; left: number };

function walkTerms(node: unknown, hash: number, isTop: boolean, depth: number, walk: TermWalk): void {
  if (walk.left <= 0 || depth > maxDepth || node === null || node === undefined) return;
  if (typeof node !== "object") {
    const value = typeof node === "string" ? node : String(node);
    walk.left -= 1;
    walk.terms.add(mix(mix(hash, "\0"), value, maxValueChars) | 0);
    return;
  }
  if (Array.isArray(node)) {
    for (const item of node) walkTerms(item, hash, isTop, depth + 1, walk);
    return;
  }
  for (const key in node) {
    const inner = mix(isTop ? hash : mix(hash, "."), key);
    // An empty key leaves the path empty, and an empty path takes no dot.
    walkTerms((node as Record<string, unknown>)[key], inner, isTop && key === "", depth + 1, walk);
  }
}

const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

function mix(hash: number, text: string, maxChars = text.length): number {
  let mixed = hash;
  const end = Math.min(text.length, maxChars);
  for (let index = 0; index < end; index++) {
    mixed ^= text.charCodeAt(index);
    mixed = Math.imul(mixed, fnvPrime);
  }
  return mixed;
}
