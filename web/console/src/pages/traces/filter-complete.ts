import {
  type FilterField,
  type FilterFunction,
  filterFields,
  operatorsOf,
} from "../../api/filter-language.ts";
import type { SeenValues } from "./trace.ts";

export type Suggestion = { label: string; detail: string; insert: string };
/** What may stand at the caret, and the part of the text it replaces. */
export type Completion = { from: number; to: number; suggestions: Suggestion[] };

/** In the order they are offered; the server lists which there are. */
const fieldWords: Readonly<Record<FilterField, string>> = {
  name: "the run's name",
  run_type: "llm, tool, chain …",
  status: "success, error, pending",
  error: "the error's text",
  latency: "seconds, as 5 or “5s”",
  tags: "has(tags, …)",
  metadata_key: "with metadata_value",
  metadata_value: "with metadata_key",
  metadata: "as JSON",
  thread_id: "the conversation",
  total_tokens: "tokens in all",
  prompt_tokens: "tokens of the prompt",
  completion_tokens: "tokens of the answer",
  total_cost: "dollars",
  prompt_cost: "dollars for the prompt",
  completion_cost: "dollars for the answer",
  start_time: "ISO 8601",
  end_time: "ISO 8601",
  first_token_time: "ISO 8601",
  is_root: "the top of a trace",
  feedback_key: "with feedback_score",
  feedback_score: "with feedback_key",
  feedback_value: "with feedback_key",
  feedback_comment: "with feedback_key",
  feedback_source: "with feedback_key",
  input_key: "with input_value",
  input_value: "with input_key",
  output_key: "with output_value",
  output_value: "with output_key",
  inputs: "as JSON",
  outputs: "as JSON",
  id: "the run's id",
  trace_id: "the trace's id",
  parent_run_id: "the run above",
  session_id: "the project's id",
  reference_example_id: "the example it ran on",
  execution_order: "place within the trace",
  trace_tier: "how long it is kept",
};

const functionWords: Readonly<Record<FilterFunction, string>> = {
  eq: "is",
  neq: "is not",
  gt: "more than",
  gte: "at least",
  lt: "less than",
  lte: "at most",
  has: "holds a tag, or JSON",
  in: "is one of a list",
  like: "matches %pattern%",
  nlike: "does not match %pattern%",
  search: "words anywhere",
  and: "all of",
  or: "any of",
  not: "the opposite",
  exists: "has this key",
};

const groups = new Set(["and", "or", "not"]);

/** What to offer where the caret stands. Pure: what was seen in the project comes as an argument. */
export function complete(text: string, caret: number, seen: SeenValues | undefined): Completion {
  const place = placeOf(text.slice(0, caret));
  const to = caret + (/^[\w-]*/.exec(text.slice(caret))?.[0].length ?? 0);
  const typed = text.slice(place.from, caret).replace(/^["']/, "").toLowerCase();
  const fits = ({ label, insert }: Suggestion) => label.toLowerCase().includes(typed) && insert !== typed;
  const offered = offersAt(place, seen).filter(fits);
  const starts = ({ label }: Suggestion) => (label.toLowerCase().startsWith(typed) ? 0 : 1);
  const suggestions = offered.sort((one, other) => starts(one) - starts(other)).slice(0, 12);
  return { from: place.from, to: place.quoted ? endOfString(text, caret) : to, suggestions };
}

type Place = {
  from: number;
  quoted: boolean;
  fn: string | null;
  argument: number;
  field: string | null;
  key: string | null;
};

/** Where the caret stands: in which function, at which argument, and of which field. */
function placeOf(before: string): Place {
  const open: { fn: string; argument: number; field: string | null }[] = [];
  let key: string | null = null;
  let word = "";
  let wordAt = 0;
  let index = 0;
  while (index < before.length) {
    const character = before[index]!;
    if (character === '"' || character === "'") {
      const end = closing(before, index);
      const top = open.at(-1);
      if (end < 0) return at(index, true);
      if (top && top.argument === 1 && top.field?.endsWith("_key")) key = before.slice(index + 1, end);
      index = end + 1;
      word = "";
      continue;
    }
    if (/[\w-]/.test(character)) {
      if (word === "") wordAt = index;
      word += character;
    } else {
      const top = open.at(-1);
      if (character === "(") open.push({ fn: word, argument: 0, field: null });
      else if (character === ")") open.pop();
      else if (character === "," && top) {
        if (top.argument === 0 && word !== "") top.field = word;
        top.argument += 1;
      }
      word = "";
    }
    index += 1;
  }
  return at(word === "" ? before.length : wordAt, false);

  function at(from: number, quoted: boolean): Place {
    const top = open.at(-1);
    return {
      from,
      quoted,
      fn: top?.fn ?? null,
      argument: top?.argument ?? 0,
      field: top?.field ?? null,
      key,
    };
  }
}

function closing(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    if (text[index] === "\\") index += 1;
    else if (text[index] === text[start]) return index;
  }
  return -1;
}

function endOfString(text: string, caret: number): number {
  const rest = /^[^"',)]*["']?/.exec(text.slice(caret))?.[0].length ?? 0;
  return caret + rest;
}

function offersAt(place: Place, seen: SeenValues | undefined): Suggestion[] {
  if (place.fn === null && place.from > 0) return [];
  if (place.fn === null || groups.has(place.fn)) {
    return Object.entries(functionWords).map(([label, detail]) => ({ label, detail, insert: `${label}(` }));
  }
  if (place.argument === 0 && place.fn !== "search" && !place.quoted) return fieldsFor(place.fn);
  if (place.argument === 1 && place.field !== null) return valuesOf(place, seen);
  return [];
}

function fieldsFor(fn: string): Suggestion[] {
  return (Object.keys(fieldWords) as FilterField[])
    .filter((field) => (operatorsOf[filterFields[field]] as readonly string[]).includes(fn))
    .map((field) => ({ label: field, detail: fieldWords[field], insert: `${field}, ` }));
}

function valuesOf({ field, key }: Place, seen: SeenValues | undefined): Suggestion[] {
  const type = Object.hasOwn(filterFields, field!) ? filterFields[field as FilterField] : undefined;
  if (type === "boolean")
    return ["true", "false"].map((label) => ({ label, detail: "", insert: `${label})` }));
  if (type === "duration") return ["1s", "5s", "10s", "30s"].map((label) => quoted(label, "seconds"));
  const values: Readonly<Record<string, readonly string[] | undefined>> = {
    name: seen?.names,
    run_type: seen?.run_types,
    status: ["success", "error", "pending"],
    tags: seen?.tags,
    metadata_key: seen && Object.keys(seen.metadata),
    metadata_value: key === null ? undefined : seen?.metadata[key],
    feedback_key: seen?.feedback_keys,
  };
  return (values[field!] ?? []).map((value) => quoted(value, "seen here"));
}

function quoted(value: string, detail: string): Suggestion {
  return { label: value, detail, insert: `${JSON.stringify(value)})` };
}

/** Plain words become a search; an expression stays as it is. */
export function asFilter(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "" || /^[a-z_]+\s*\(/i.test(trimmed)) return trimmed;
  return `search(${JSON.stringify(trimmed)})`;
}
