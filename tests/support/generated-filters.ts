import { randomUUID } from "node:crypto";
import type { Judged, Node, Value } from "./filter-evaluator.ts";
import { sampleRun } from "./trace-rows.ts";

/** Runs and filters that touch every part of the language, for each engine that stores runs. */

/** The same numbers every time: a failure can be looked at again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export class Maker {
  readonly #next: () => number;
  constructor(seed: number) {
    this.#next = random(seed);
  }
  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }
  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
  some<T>(items: readonly T[]): T[] {
    return items.filter(() => this.#next() < 0.4);
  }
}

const names = ["alpha", "Beta", "alpha beta", "50%", "a_b", "ümlaut"];
const words = ["red", "green", "Blue", "red green", "1", "true", 'say "hi"', "a\nb"];
const ids = Array.from({ length: 4 }, () => randomUUID());
const times = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:02.5Z", "2026-01-02T00:00:00+02:00"];
const leaf = (make: Maker) => make.of<unknown>([...words, 1, 2.5, true, null]);

function payload(make: Maker): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const key of make.some(["k", "m", "n.o"])) result[key] = leaf(make);
  if (make.below(3) === 0) result.k = { inner: leaf(make), list: [leaf(make), { deep: leaf(make) }] };
  if (make.below(4) === 0) result.m = [leaf(make), leaf(make)];
  return result;
}

export function makeRun(make: Maker, place: { workspace_id: string; session_id: string }): Judged {
  const run = sampleRun({
    ...place,
    name: make.of(names),
    run_type: make.of(["llm", "chain", "tool"]),
    start_time: make.of(times),
    end_time: make.of([null, "2026-01-02T12:00:00Z", "2026-01-01T22:00:05Z"]),
    error: make.of([null, null, "boom", "Boom: red"]),
    thread_id: make.of([null, "t1", "t2"]),
    parent_run_id: make.of([null, null, ids[0]!, ids[1]!]),
    reference_example_id: make.of([null, ids[2]!]),
    tags: make.some(["x", "y", "x%"]),
    metadata: payload(make),
    inputs: make.below(4) === 0 ? null : payload(make),
    outputs: make.below(4) === 0 ? null : payload(make),
    total_tokens: make.below(4) * 10,
    total_cost: make.of([null, 0.5, 2]),
  });
  const feedback = make.some(["f1", "f2", "f1"]).map((key) => ({
    workspace_id: place.workspace_id,
    run_id: run.id,
    key,
    score: make.of([null, 0, 0.5, 1]),
    value: make.of([undefined, "good", "bad"]),
    comment: make.of([null, "so so"]),
    source: make.of(["api", "model"]),
  }));
  return { ...run, feedback };
}

const pairKeys = ["k", "m", "n.o", "k.inner", "k.list", "k.list.deep", "absent"];
const patterns = ["%e%", "red%", "%a_p%", "50\\%", "_", "%", "alpha", "%Hi%", "%k%", "%een%", "k.%"];
const orderings = ["gt", "gte", "lt", "lte"];

function makeTest(make: Maker): Node {
  const of = (op: string, field: string, value: Value): Node => ({ kind: "test", op, field, value });
  const textOp = (field: string, values: readonly string[]): Node => {
    const op = make.of(["eq", "neq", "in", "like", "nlike"]);
    if (op === "in") return of(op, field, make.some(values));
    return of(op, field, make.of(op.endsWith("like") ? patterns : values));
  };
  const family = make.of(["metadata", "input", "output"]);
  return make.of<() => Node>([
    () => textOp("name", names),
    () => textOp("run_type", ["llm", "chain"]),
    () => of(make.of(["eq", "neq"]), make.of(["status"]), make.of(["error", "success", "pending"])),
    () => of(make.of(["eq", "neq"]), make.of(["error", "end_time", "thread_id", "parent_run_id"]), null),
    () => textOp("error", ["boom", "Boom: red"]),
    () => of(make.of(["eq", "neq", ...orderings]), "start_time", make.of(times)),
    () => of(make.of(["neq", ...orderings]), "end_time", "2026-01-02T12:00:00Z"),
    () => of(make.of(["neq", ...orderings]), "latency", make.of([2.5, 43_200, 79_205])),
    () => of(make.of(["eq", "neq", ...orderings]), "total_tokens", make.of([0, 10, 15])),
    () => of(make.of(["eq", "neq", ...orderings]), "total_cost", make.of([0.5, 1])),
    () => of("in", "total_tokens", make.some([0, 20])),
    () => of(make.of(["eq", "neq"]), "is_root", make.of([true, false])),
    () => of(make.of(["eq", "neq"]), make.of(["parent_run_id", "reference_example_id"]), make.of(ids)),
    () => of("in", "parent_run_id", make.some(ids)),
    () => of(make.of(["has", "eq", "neq"]), "tags", make.of(["x", "y", "z"])),
    () => of("in", "tags", make.some(["x", "y"])),
    () => of(make.of(["like", "nlike"]), "tags", make.of(["x%", "x\\%", "_"])),
    () => of(make.of(["eq", "neq"]), make.of(["tags", "inputs", "outputs"]), null),
    () => of("exists", make.of(["metadata", "inputs"]), make.of(pairKeys)),
    () =>
      of(
        "has",
        make.of(["metadata", "inputs"]),
        JSON.stringify(
          make.of([{ k: "red" }, { m: 1 }, { k: { inner: true } }, { m: ["red"] }, {}, { k: null }]),
        ),
      ),
    () => textOp(`${family}_key`, pairKeys),
    () => textOp(`${family}_key`, pairKeys),
    () => textOp(`${family}_value`, words),
    () => textOp(`${family}_value`, words),
    () => of("eq", `${family}_value`, make.of([1, 2.5, true])),
    () => textOp("feedback_key", ["f1", "f2"]),
    () => of(make.of(["eq", "neq", ...orderings]), "feedback_score", make.of([0, 0.5, 1])),
    () => of(make.of(["eq", "neq"]), make.of(["feedback_score", "feedback_comment"]), null),
    () => textOp("feedback_value", ["good", "bad"]),
    () => of(make.of(["eq", "neq"]), "feedback_source", "model"),
    () => ({
      kind: "search",
      field: make.of([null, "name", "error", "inputs", "tags", "input_value"]),
      text: make.of(["RED", "red gree", "alpha", '"hi"', "x", "%", "boom red"]),
    }),
  ])();
}

export function makeTree(make: Maker, depth: number): Node {
  const choice = depth === 0 ? 9 : make.below(10);
  const parts = () => Array.from({ length: 1 + make.below(4) }, () => makeTree(make, depth - 1));
  if (choice < 4) return { kind: "and", parts: parts() };
  if (choice < 6) return { kind: "or", parts: parts() };
  if (choice < 7) return { kind: "not", part: makeTree(make, depth - 1) };
  return makeTest(make);
}
