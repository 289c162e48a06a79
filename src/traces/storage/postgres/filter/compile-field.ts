import { raw } from "../../../../platform/db/raw.ts";
import { mayHoldTrigrams, neededTrigrams } from "../../../../platform/db/trigram-condition.ts";
import { type Comparison, type FieldName, fieldOf } from "../../../filter/filter.ts";
import {
  all,
  any,
  type Condition,
  holdsTokens,
  jsonHoldsToken,
  negate,
  testOrdered,
  testText,
} from "../../../filter/sql-text.ts";
import { pairsOf, pairTerm, tagTerm } from "../../../runs/term.ts";

const types = { uuid: raw`uuid`, time: raw`timestamptz`, number: raw`float8`, decimal: raw`numeric` };

/** A comparison on a column of the run itself. */
export function compileField(test: Comparison, alias: string): Condition {
  const column = columnOf(test.field, alias);
  switch (fieldOf(test.field).type) {
    case "uuid":
      return testOrdered(column, test, types.uuid);
    case "time":
      return testOrdered(column, test, types.time);
    case "integer":
      return testOrdered(column, test, types.number);
    case "number":
      return testOrdered(column, test, types.decimal);
    case "duration":
      return testOrdered(latencyOf(alias), test, types.number);
    case "boolean":
      return testBoolean(column, test);
    case "tags":
      return testTags(column, test, alias);
    case "json":
      return testJson(column, test, alias);
    default:
      return testText(column, test);
  }
}

/** Columns have their fields' names, but for the project, which clients call a session. */
export function columnOf(field: FieldName | "terms" | "trigrams" | "workspace_id", alias: string): Condition {
  return raw.ref(`${alias}.${field === "session_id" ? "project_id" : field}`);
}

export function latencyOf(alias: string): Condition {
  return raw`date_part('epoch', ${columnOf("end_time", alias)} - ${columnOf("start_time", alias)})`;
}

export function searchField(field: FieldName, tokens: readonly string[], alias: string): Condition {
  const isSigned = (signedFields as readonly string[]).includes(field);
  return all([...(isSigned ? mayHold(tokens, alias) : []), holds(field, tokens, alias)]);
}

/** The texts whose trigrams a run keeps. */
export const signedFields = ["name", "error", "inputs", "outputs"] as const;

/** Passes over runs that cannot hold the words, before a payload is read. */
function mayHold(tokens: readonly string[], alias: string): Condition[] {
  const needed = neededTrigrams(tokens);
  return needed === null ? [] : [hasTrigrams(needed, alias)];
}

export function hasTrigrams(needed: Buffer, alias: string): Condition {
  return mayHoldTrigrams(needed, columnOf("trigrams", alias));
}

function holds(field: FieldName, tokens: readonly string[], alias: string): Condition {
  const column = columnOf(field, alias);
  if (field === "metadata") return all(tokens.map((token) => jsonHoldsToken(raw`${column}::text`, token)));
  if (field === "inputs" || field === "outputs") {
    return all(tokens.map((token) => jsonHoldsToken(column, token)));
  }
  if (field === "tags") return someTag(column, holdsTokens(raw.ref("tag"), tokens));
  return holdsTokens(column, tokens);
}

/** Each token may stand in another of the run's texts. */
export function searchAnywhere(tokens: readonly string[], alias: string): Condition {
  const found = tokens.map((token) => any(signedFields.map((field) => holds(field, [token], alias))));
  return all([...mayHold(tokens, alias), ...found]);
}

/** Without a parameter, so that the partial index of root runs is recognised. */
function testBoolean(column: Condition, { op, value }: Comparison): Condition {
  if (value === null) return op === "neq" ? raw`${column} is not null` : raw`${column} is null`;
  return (op === "eq") === value ? column : raw`not ${column}`;
}

function testTags(column: Condition, test: Comparison, alias: string): Condition {
  const { op, value } = test;
  const terms = columnOf("terms", alias);
  if (value === null) return op === "neq" ? raw`cardinality(${column}) > 0` : raw`cardinality(${column}) = 0`;
  if (op === "like" || op === "nlike") {
    const found = someTag(column, raw`tag like ${value}`);
    return op === "like" ? found : negate(found);
  }
  const tags = (Array.isArray(value) ? value : [value]) as string[];
  const found = raw`(${terms} && ${tags.map(tagTerm)}::int[] and ${column} && ${tags}::text[])`;
  return op === "neq" ? raw`not ${column} && ${tags}::text[]` : found;
}

function someTag(column: Condition, condition: Condition): Condition {
  return raw`exists (select 1 from unnest(${column}) as tag where ${condition})`;
}

function testJson(column: Condition, test: Comparison, alias: string): Condition {
  const { op, field, value } = test;
  const isJsonb = field === "metadata";
  const document = isJsonb ? column : raw`jsonb_or_null(${column})`;
  const text = isJsonb ? raw`${column}::text` : column;
  if (value === null) {
    // A client's explicit null is no more there than what was never sent.
    const absent = isJsonb
      ? raw`${column} = '{}'::jsonb`
      : raw`(${column} is null or ${column} in ('null', '{}'))`;
    return op === "neq" ? negate(absent) : absent;
  }
  if (op === "exists") {
    return raw`(${document} ? ${value} or ${document} #> string_to_array(${value}, '.') is not null)`;
  }
  if (op === "has")
    return all([...narrowing(field, value as string, alias), containment(document, value as string)]);
  return testText(text, test);
}

/** Read by the database's own forgiving reader: JSON that jsonb refuses is contained in nothing. */
function containment(document: Condition, json: string): Condition {
  return raw`${document} @> jsonb_or_null(${json})`;
}

/** The leaves of what must be contained are pairs of the payload, and those are indexed. */
function narrowing(field: FieldName, json: string, alias: string): Condition[] {
  const source = field as "metadata" | "inputs" | "outputs";
  const pairs = pairsOf(JSON.parse(json));
  if (pairs.length === 0) return [];
  const terms = pairs.map(([key, value]) => pairTerm(source, key, value));
  return [raw`${columnOf("terms", alias)} @> ${terms}::int[]`];
}
