import type { SampleFeedback, SampleRun } from "./trace-rows.ts";

/** A filter as a test writes it down: printed for the parser, judged here without it and without SQL. */
export type Node =
  | { kind: "and"; parts: Node[] }
  | { kind: "or"; parts: Node[] }
  | { kind: "not"; part: Node }
  | { kind: "test"; op: string; field: string; value: Value }
  | { kind: "search"; field: string | null; text: string };
export type Value = string | number | boolean | null | (string | number | boolean)[];
export type Judged = SampleRun & { feedback: SampleFeedback[] };

export function print(node: Node): string {
  switch (node.kind) {
    case "and":
    case "or":
      return `${node.kind}(${node.parts.map(print).join(", ")})`;
    case "not":
      return `not(${print(node.part)})`;
    case "test":
      return `${node.op}(${node.field}, ${JSON.stringify(node.value)})`;
    case "search":
      return `search(${node.field === null ? "" : `${node.field}, `}${JSON.stringify(node.text)})`;
  }
}

type Entry = Record<string, string | number | null>;
type Bound = { part: string; negative: boolean; holds(entry: Entry): boolean; asksNull: boolean };

export function judge(node: Node, run: Judged): boolean {
  if (node.kind === "not") return !judge(node.part, run);
  if (node.kind === "or") return node.parts.some((part) => judge(part, run));
  if (node.kind === "and") return judgeAll(node.parts, run);
  if (isPair(node.field)) return judgeAll([node], run);
  return node.kind === "search" ? judgeSearch(node, run) : judgeTest(node, run);
}

function isPair(field: string | null): field is string {
  return field !== null && /^(metadata|input|output|feedback)_/.test(field);
}

function judgeAll(parts: Node[], run: Judged): boolean {
  for (const family of ["metadata", "input", "output", "feedback"]) {
    const bound = parts.flatMap((part) => bind(part, family));
    if (bound.length > 0 && !judgeFamily(bound, entriesOf(run, family))) return false;
  }
  return parts.every((part) => isPair(leafField(part)) || judge(part, run));
}

function leafField(node: Node): string | null {
  if (node.kind === "not") return leafField(node.part);
  return node.kind === "and" || node.kind === "or" ? null : node.field;
}

function bind(node: Node, family: string): Bound[] {
  if (node.kind === "not") {
    const inner = isPair(leafField(node)) ? bind(node.part, family) : [];
    return inner.map((each) => ({ ...each, negative: !each.negative }));
  }
  if (node.kind === "and" || node.kind === "or") return [];
  if (!node.field?.startsWith(`${family}_`)) return [];
  const part = node.field.slice(family.length + 1);
  if (node.kind === "search") {
    const holds = (entry: Entry) => hasTokens(String(entry[part] ?? ""), node.text);
    return [{ part, negative: false, asksNull: false, holds }];
  }
  const negative = node.op === "neq" || node.op === "nlike";
  const op = node.op === "neq" ? "eq" : node.op === "nlike" ? "like" : node.op;
  const holds = (entry: Entry) => compare(op, entry[part] ?? null, node.value, part === "score");
  return [{ part, negative, asksNull: node.value === null, holds }];
}

function judgeFamily(tests: Bound[], entries: Entry[]): boolean {
  const keys = tests.flatMap((test, index) => (test.part === "key" ? [index] : []));
  const ownerOf = (index: number) => keys.findLast((key) => key < index) ?? keys[0];
  return tests.every((test, index) => {
    const negativeOf = (bound: Bound) => (entry: Entry) => bound.holds(entry) !== bound.negative;
    if (test.part !== "key") {
      if (ownerOf(index) !== undefined) return true;
      if (test.asksNull) return entries.some((entry) => !test.holds(entry)) === test.negative;
      return entries.some(test.holds) !== test.negative;
    }
    const owned = tests.filter((other, at) => other.part !== "key" && ownerOf(at) === index);
    if (!test.negative) return entries.some((entry) => [test, ...owned].every((b) => negativeOf(b)(entry)));
    const present = owned.filter((other) => !other.negative);
    return (
      !entries.some(test.holds) &&
      owned.every((other) => !other.negative || !entries.some(other.holds)) &&
      (present.length === 0 || entries.some((entry) => present.every((other) => other.holds(entry))))
    );
  });
}

function entriesOf(run: Judged, family: string): Entry[] {
  if (family === "feedback") {
    return run.feedback.map((each) => ({
      key: each.key,
      score: each.score ?? null,
      value: each.value === undefined ? null : String(each.value),
      comment: each.comment ?? null,
      source: each.source ?? "api",
    }));
  }
  const payload = { metadata: run.metadata, input: run.inputs, output: run.outputs }[family];
  return [...leaves(payload, [])].map(([key, value]) => ({ key, value }));
}

function* leaves(node: unknown, path: string[]): Generator<[string, string | null]> {
  if (Array.isArray(node)) for (const item of node) yield* leaves(item, path);
  else if (node !== null && typeof node === "object") {
    for (const [key, value] of Object.entries(node)) yield* leaves(value, [...path, key]);
  } else if (path.length > 0) yield [path.join("."), node === null ? null : String(node)];
}

function hasTokens(text: string, tokens: string): boolean {
  return tokens
    .trim()
    .split(/\s+/)
    .every((token) => text.toLowerCase().includes(token.toLowerCase()));
}

function judgeSearch(node: { field: string | null; text: string }, run: Judged): boolean {
  const textOf = (field: string): string[] => {
    const value = run[field as keyof Judged];
    if (field === "tags") return run.tags;
    if (typeof value === "string") return [value];
    return value === null ? [] : [[...spoken(value)].join("\u0001")];
  };
  if (node.field !== null) return textOf(node.field).some((text) => hasTokens(text, node.text));
  const texts = ["name", "error", "inputs", "outputs"].flatMap(textOf);
  return node.text
    .trim()
    .split(/\s+/)
    .every((token) => texts.some((text) => hasTokens(text, token)));
}

/** Every key and value of a payload. */
function* spoken(node: unknown): Generator<string> {
  if (node === null || typeof node !== "object") yield String(node);
  else {
    for (const [key, value] of Object.entries(node)) {
      if (!Array.isArray(node)) yield key;
      yield* spoken(value);
    }
  }
}

function judgeTest(node: { op: string; field: string; value: Value }, run: Judged): boolean {
  const { op, field, value } = node;
  if (op === "neq") return !judgeTest({ ...node, op: "eq" }, run);
  if (op === "nlike") return !judgeTest({ ...node, op: "like" }, run);
  if (field === "tags") {
    if (value === null) return run.tags.length === 0;
    const wanted = (Array.isArray(value) ? value : [value]) as string[];
    const match = (tag: string) =>
      op === "like" ? compare("like", tag, value, false) : wanted.includes(tag);
    return run.tags.some(match);
  }
  if (op === "exists") return pathExists(run[field as "metadata"], String(value));
  if (op === "has") return contains(run[field as "metadata"], JSON.parse(String(value)));
  if (field === "inputs" || field === "outputs") {
    const payload = run[field];
    return payload === null || Object.keys(payload).length === 0;
  }
  const isTime = field.endsWith("_time");
  return compare(op, own(run, field), isTime ? instant(value) : value, isTime || typeof value === "number");
}

function own(run: Judged, field: string): string | number | boolean | null {
  if (field === "latency") {
    return run.end_time === null ? null : (Date.parse(run.end_time) - Date.parse(run.start_time)) / 1000;
  }
  if (field === "is_root") return run.parent_run_id === null;
  const value = run[field as "name"] ?? null;
  return field.endsWith("_time") ? (instant(value) as number | null) : value;
}

function instant(value: Value): Value {
  return typeof value === "string" ? Date.parse(value) : value;
}

function compare(op: string, actual: unknown, wanted: Value, numeric: boolean): boolean {
  if (op === "eq" && wanted === null) return actual === null;
  if (actual === null) return false;
  const same = (each: unknown) =>
    numeric ? Number(actual) === Number(each) : String(actual) === String(each);
  switch (op) {
    case "eq":
      return same(wanted);
    case "in":
      return (wanted as unknown[]).some(same);
    case "gt":
      return Number(actual) > Number(wanted);
    case "gte":
      return Number(actual) >= Number(wanted);
    case "lt":
      return Number(actual) < Number(wanted);
    case "lte":
      return Number(actual) <= Number(wanted);
    default:
      return likeMatches(String(actual), String(wanted));
  }
}

function likeMatches(text: string, pattern: string): boolean {
  let source = "";
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] === "\\" ? pattern[++at]! : pattern[at]!;
    const isWild = pattern[at - 1] !== "\\" || character !== pattern[at];
    if (isWild && character === "%") source += ".*";
    else if (isWild && character === "_") source += ".";
    else source += character.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  }
  return new RegExp(`^${source}$`, "su").test(text);
}

function pathExists(document: unknown, path: string): boolean {
  if (document === null || typeof document !== "object") return false;
  if (Object.hasOwn(document, path)) return true;
  let node: unknown = document;
  for (const segment of path.split(".")) {
    if (node === null || typeof node !== "object") return false;
    if (!Object.hasOwn(node, segment)) return false;
    node = (node as Record<string, unknown>)[segment];
  }
  return true;
}

function contains(document: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(document) && wanted.every((item) => document.some((own) => contains(own, item)));
  }
  if (wanted === null || typeof wanted !== "object") return document === wanted;
  if (document === null || typeof document !== "object" || Array.isArray(document)) return false;
  return Object.entries(wanted).every(
    ([key, value]) =>
      Object.hasOwn(document, key) && contains((document as Record<string, unknown>)[key], value),
  );
}
