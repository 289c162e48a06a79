import {
  type CompareOperator,
  type FieldName,
  type FieldType,
  type Filter,
  type FilterValue,
  fieldNames,
  fieldOf,
  fields,
  isSearchable,
  operatorsOf,
  type Scalar,
} from "./filter.ts";
import { FilterFault } from "./filter-error.ts";
import type { SyntaxName, SyntaxNode, SyntaxValue } from "./filter-parser.ts";
import {
  badValue,
  readBoolean,
  readDuration,
  readJson,
  readNumber,
  readPairText,
  readPattern,
  readScore,
  readText,
  readTime,
  readUuid,
  readWord,
} from "./filter-values.ts";

/** Turns the syntax into a filter, or throws an error with the place of the fault. */
export function checkSyntax(node: SyntaxNode): Filter {
  switch (node.kind) {
    case "and":
    case "or":
      return { kind: node.kind, parts: node.parts.map(checkSyntax) };
    case "not":
      return { kind: "not", part: checkSyntax(node.part) };
    case "search":
      return checkSearch(node.field, node.text);
    case "compare":
      return checkComparison(node.op as CompareOperator, node);
  }
}

function checkSearch(name: SyntaxName | null, value: SyntaxValue): Filter {
  const field = name === null ? null : knownField(name);
  if (name !== null && field !== null && !isSearchable(fieldOf(field).type)) {
    const problem = `search cannot be used with ${field}.`;
    throw new FilterFault(name.offset, "operator_does_not_apply", problem, "a field that holds text");
  }
  const tokens = readText(value)
    .split(/\s+/)
    .filter((token) => token !== "");
  if (tokens.length === 0)
    throw new FilterFault(value.offset, "value_not_valid", "There is nothing to search for.", "some text");
  return { kind: "search", field, tokens };
}

function checkComparison(op: CompareOperator, node: SyntaxNode & { kind: "compare" }): Filter {
  const field = knownField(node.field);
  const { type } = fieldOf(field);
  if (!operatorsOf[type].includes(op)) {
    const word = { found: op, choices: operatorsOf[type] };
    throw new FilterFault(node.offset, "operator_does_not_apply", `${op} does not apply to ${field}.`, word);
  }
  return { kind: "compare", op, field, value: checkValue(op, field, type, node.value) };
}

function knownField(name: SyntaxName): FieldName {
  if (Object.hasOwn(fields, name.text)) return name.text as FieldName;
  const shown = name.text.length > 60 ? `${name.text.slice(0, 60)}…` : name.text;
  const word = { found: shown, choices: fieldNames };
  throw new FilterFault(name.offset, "unknown_field", `There is no field ${JSON.stringify(shown)}.`, word);
}

function checkValue(op: CompareOperator, field: FieldName, type: FieldType, value: SyntaxValue): FilterValue {
  if (op === "in") {
    if (value.kind !== "list") throw badValue(value, "in needs a list.", "[value, value]");
    return value.items.map((item) => readOf(type)(item));
  }
  if (value.kind === "list") throw badValue(value, `${op} takes one value, not a list.`);
  if (value.kind === "null") return checkNull(op, field, type, value);
  if (op === "like" || op === "nlike") return readPattern(value);
  if (type === "json") return checkJson(op, field, value);
  return readOf(type)(value);
}

function checkNull(op: CompareOperator, field: FieldName, type: FieldType, value: SyntaxValue): null {
  // An entry without a key, or a key without a value, does not exist.
  const hasNull = type !== "pair_text" || fieldOf(field).pair?.family === "feedback";
  const isKey = fieldOf(field).pair?.part === "key";
  if ((op === "eq" || op === "neq") && hasNull && !isKey) return null;
  throw badValue(value, `${op}(${field}, …) cannot be compared with null.`);
}

function checkJson(op: CompareOperator, field: FieldName, value: SyntaxValue): string {
  if (op === "has") return readJson(value);
  if (op === "exists") return readText(value);
  throw badValue(
    value,
    `${op}(${field}, …) only tests for null.`,
    `null, or has(${field}, '{"key": "value"}')`,
  );
}

function readOf(type: FieldType): (value: SyntaxValue) => Scalar {
  switch (type) {
    case "uuid":
      return readUuid;
    case "word":
      return readWord;
    case "time":
      return readTime;
    case "duration":
      return readDuration;
    case "integer":
    case "number":
      return readNumber;
    case "pair_number":
      return readScore;
    case "boolean":
      return readBoolean;
    case "pair_text":
      return readPairText;
    case "text":
    case "tags":
    case "json":
      return readText;
  }
}
