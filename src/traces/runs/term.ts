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

const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

function mix(hash: number, text: string): number {
  let mixed = hash;
  for (let index = 0; index < text.length; index++) {
    mixed ^= text.charCodeAt(index);
    mixed = Math.imul(mixed, fnvPrime);
  }
  return mixed;
}
