import { maxValueChars } from "../../../runs/term.ts";
import { all, any, type Condition, type Values } from "./condition.ts";

/** What PostgreSQL's `@>` asks of JSON text: every key, item and value of `wanted` is somewhere in its place. */
export function containsJson(document: Condition, wanted: unknown, values: Values): Condition {
  return contains(document, wanted, values, 0);
}

function contains(document: Condition, wanted: unknown, values: Values, depth: number): Condition {
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
      const inner = contains(`JSONExtractRaw(${document}, ${name})`, value, values, depth);
      return `(JSONHas(${document}, ${name}) and ${inner})`;
    });
    return all([`${type} = 'Object'`, ...keys]);
  }
  if (typeof wanted === "string")
    return `(${type} = 'String' and JSONExtractString(${document}) = ${values.bind(wanted, "String")})`;
  if (typeof wanted === "boolean") return `(${type} = 'Bool' and JSONExtractBool(${document}) = ${wanted})`;
  return `(${type} in ('Int64', 'UInt64', 'Double') and JSONExtractFloat(${document}) = ${values.bind(wanted, "Float64")})`;
}

/** The key is there, or the dotted path is, in which numbers are places of arrays. */
export function hasPath(document: Condition, path: string, values: Values): Condition {
  const key = values.bind(path, "String");
  const found = path.split(".").reduce((at, segment) => step(at, segment, values), document);
  return any([
    `(JSONType(${document}) = 'Object' and JSONHas(${document}, ${key}))`,
    `has(JSONExtract(${document}, 'Array(Nullable(String))'), ${key})`,
    `(${found} != '')`,
  ]);
}

function step(at: Condition, segment: string, values: Values): Condition {
  const byKey = `JSONExtractRaw(${at}, ${values.bind(segment, "String")})`;
  if (!/^-?\d{1,9}$/.test(segment)) return `if(JSONType(${at}) = 'Object', ${byKey}, '')`;
  const place = Number(segment);
  const item = `JSONExtractRaw(${at}, ${values.bind(place < 0 ? place : place + 1, "Int32")})`;
  return `multiIf(JSONType(${at}) = 'Object', ${byKey}, JSONType(${at}) = 'Array', ${item}, '')`;
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
