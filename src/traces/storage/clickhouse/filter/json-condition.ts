import { maxJsonDepth } from "../../../../platform/json-depth.ts";
import { maxValueChars } from "../../../runs/term.ts";
import { all, any, type Condition, never, type Values } from "./condition.ts";
import { queryTooLarge } from "./query-too-large.ts";

/** A server takes some fifty functions inside one another, and takes its time for them. */
const maxWantedDepth = 32;

/** What PostgreSQL's `@>` asks of JSON text: every key, item and value of `wanted` is somewhere in its place. */
export function containsJson(document: Condition, wanted: unknown, values: Values): Condition {
  return contains(document, wanted, values, 0);
}

function contains(document: Condition, wanted: unknown, values: Values, depth: number): Condition {
  if (depth > maxWantedDepth) throw queryTooLarge();
  const type = `JSONType(${document})`;
  if (Array.isArray(wanted)) {
    const item = `item${depth}`;
    const items = wanted.map(
      (each) =>
        `arrayExists(${item} -> ${contains(item, each, values, depth + 1)}, JSONExtractArrayRaw(${document}))`,
    );
    return all([`${type} = 'Array'`, ...items]);
  }
  if (wanted === null) return `(${type} = 'Null')`;
  if (typeof wanted === "object") {
    const keys = Object.entries(wanted).map(([key, value]) => {
      const name = values.bind(key, "String");
      return `(JSONHas(${document}, ${name}) and ${containsAt(`JSONExtractRaw(${document}, ${name})`, value, values, depth)})`;
    });
    return all([`${type} = 'Object'`, ...keys]);
  }
  if (typeof wanted === "string")
    return `(${type} = 'String' and JSONExtractString(${document}) = ${values.bind(wanted, "String")})`;
  if (typeof wanted === "boolean") return `(${type} = 'Bool' and JSONExtractBool(${document}) = ${wanted})`;
  return `(${type} in ('Int64', 'UInt64', 'Double') and JSONExtractFloat(${document}) = ${values.bind(wanted, "Float64")})`;
}

/** What stands there has a name inside, so that the text of a condition grows with what is wanted and not with its depth. */
function containsAt(place: Condition, wanted: unknown, values: Values, depth: number): Condition {
  if (typeof wanted !== "object" || wanted === null) return contains(place, wanted, values, depth);
  const inner = `inner${depth}`;
  return `arrayExists(${inner} -> ${contains(inner, wanted, values, depth + 1)}, [${place}])`;
}

/**
 * What PostgreSQL's `?` and `#>` ask: the text is a key of the object or an item of the array, or the dotted path leads to
 * something, in which numbers are places of arrays.
 */
export function hasPath(document: Condition, path: string, values: Values): Condition {
  const key = values.bind(path, "String");
  const items = `if(JSONType(${document}) = 'Array', JSONExtractArrayRaw(${document}), [${document}])`;
  return any([
    `JSONHas(${document}, ${key})`,
    `arrayExists(item -> JSONType(item) = 'String' and JSONExtractString(item) = ${key}, ${items})`,
    leadsSomewhere(document, path === "" ? [] : path.split("."), values),
  ]);
}

function leadsSomewhere(document: Condition, segments: readonly string[], values: Values): Condition {
  // Nothing that was taken in is nested deeper.
  if (segments.length > maxJsonDepth) return never;
  const steps = [values.bind(segments, "Array(String)"), values.bind(segments.map(placeOf), "Array(Int32)")];
  const step = "if(JSONType(at) = 'Array', JSONExtractRaw(at, place), JSONExtractRaw(at, segment))";
  return `(arrayFold((at, segment, place) -> ${step}, ${steps.join(", ")}, ${document}) != '')`;
}

/** The place in an array as ClickHouse counts them: from one, or from the end below zero. There is none at zero. */
function placeOf(segment: string): number {
  if (!/^\s*[-+]?\d{1,9}$/.test(segment)) return 0;
  const place = Number(segment);
  return place < 0 ? place : place + 1;
}

/**
 * The pairs of a payload as `trace_pairs` in PostgreSQL gives them: dotted paths, places in arrays left out, one per leaf, values as
 * text and cut. Each round opens what is still an object or an array, and there are as many rounds as brackets.
 */
export function pairsOfJson(document: Condition): Condition {
  const keyed = `arrayMap(kv -> (if(leaf.1 = '', kv.1, concat(leaf.1, '.', kv.1)), kv.2), JSONExtractKeysAndValuesRaw(leaf.2))`;
  const listed = "arrayMap(item -> (leaf.1, item), JSONExtractArrayRaw(leaf.2))";
  const opened = `arrayFlatten(arrayMap(leaf -> multiIf(JSONType(leaf.2) = 'Object', ${keyed}, JSONType(leaf.2) = 'Array', ${listed}, [leaf]), opened))`;
  const rounds = `range(toUInt64(least(33, countSubstrings(${document}, '{') + countSubstrings(${document}, '['))))`;
  const leaves = `arrayFold((opened, round) -> ${opened}, ${rounds}, arrayFilter(leaf -> isValidJSON(leaf.2), [('', ${document})]))`;
  const text = `multiIf(JSONType(leaf.2) = 'String', JSONExtractString(leaf.2), JSONType(leaf.2) = 'Double', toString(JSONExtractFloat(leaf.2)), JSONType(leaf.2) = 'Null', null, leaf.2)`;
  return `arrayMap(leaf -> (leaf.1, substringUTF8(${text}, 1, ${maxValueChars})), arrayFilter(leaf -> JSONType(leaf.2) not in ('Object', 'Array'), ${leaves}))`;
}
