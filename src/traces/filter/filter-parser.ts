import { compareOperators } from "./filter.ts";
import { FilterFault } from "./filter-error.ts";
import { FilterLexer, type Token } from "./filter-lexer.ts";

/** What was written, before anything is known about fields and types. */
export type SyntaxNode =
  | { kind: "and" | "or"; offset: number; parts: SyntaxNode[] }
  | { kind: "not"; offset: number; part: SyntaxNode }
  | { kind: "compare"; offset: number; op: string; field: SyntaxName; value: SyntaxValue }
  | { kind: "search"; offset: number; field: SyntaxName | null; text: SyntaxValue };

export type SyntaxName = { text: string; offset: number };
export type SyntaxValue =
  | { kind: "string"; offset: number; value: string }
  | { kind: "number"; offset: number; value: number }
  | { kind: "boolean"; offset: number; value: boolean }
  | { kind: "null"; offset: number; value: null }
  | { kind: "list"; offset: number; items: SyntaxValue[] };

/** Deeper texts are refused, so that neither this parser nor the database runs out of stack. */
export const maxDepth = 200;
/** Comparisons and words searched for. PostgreSQL 15 plans as many as these within a second, over a year of runs. */
export const maxComparisons = 200;
export const maxLength = 200_000;

const aliases = new Map([
  ["notlike", "nlike"],
  ["not_like", "nlike"],
]);
const operators = new Set<string>(compareOperators);
export const operatorNames = ["and", "or", "not", "search", ...compareOperators] as const;

const constants = new Map<string, boolean | null>([
  ["true", true],
  ["false", false],
  ["null", null],
  // What these look like when a Python program writes the filter.
  ["True", true],
  ["False", false],
  ["None", null],
]);

export function parseSyntax(text: string): SyntaxNode {
  if (text.length > maxLength) {
    throw new FilterFault(maxLength, "too_large", `The filter is longer than ${maxLength} characters.`);
  }
  return new FilterParser(text).parse();
}

class FilterParser {
  readonly #lexer: FilterLexer;
  #token: Token;
  #comparisons = 0;

  constructor(text: string) {
    this.#lexer = new FilterLexer(text);
    this.#token = this.#lexer.next();
  }

  parse(): SyntaxNode {
    const node = this.#expression(1);
    this.#expect("end", "the end of the filter");
    return node;
  }

  #expression(depth: number): SyntaxNode {
    const { offset, text, kind } = this.#token;
    if (kind !== "word") throw this.#unexpected("an operator such as eq(field, value)");
    if (depth > maxDepth)
      throw new FilterFault(offset, "too_large", `The filter is nested deeper than ${maxDepth} levels.`);
    const op = aliases.get(text) ?? text;
    const isGroup = op === "and" || op === "or";
    if (!isGroup && op !== "not" && op !== "search" && !operators.has(op)) {
      const word = { found: text, choices: operatorNames };
      throw new FilterFault(offset, "unknown_operator", `There is no operator ${text}.`, word);
    }
    this.#advance();
    this.#expect("(", '"("');
    if (op === "and" || op === "or") return { kind: op, offset, parts: this.#parts(depth + 1) };
    if (op === "not") {
      const part = this.#expression(depth + 1);
      this.#expect(")", '")"');
      return { kind: "not", offset, part };
    }
    if (op !== "search") this.#count(offset, 1);
    return op === "search" ? this.#search(offset) : this.#comparison(op, offset);
  }

  #parts(depth: number): SyntaxNode[] {
    const parts = [this.#expression(depth)];
    while (this.#token.kind === ",") {
      this.#advance();
      parts.push(this.#expression(depth));
    }
    this.#expect(")", '"," or ")"');
    return parts;
  }

  #comparison(op: string, offset: number): SyntaxNode {
    const field = this.#field();
    this.#expect(",", '","');
    const value = this.#value();
    this.#expect(")", '")"');
    return { kind: "compare", offset, op, field, value };
  }

  #search(offset: number): SyntaxNode {
    const { kind, text } = this.#token;
    const first = this.#token;
    if (kind === "word" && !constants.has(text)) {
      const field = this.#field();
      this.#expect(",", '","');
      return this.#searchText(offset, field);
    }
    const value = this.#value();
    if (first.kind === "string" && this.#token.kind === ",") {
      this.#advance();
      return this.#searchText(offset, { text: first.value, offset: first.offset });
    }
    this.#expect(")", '"," or ")"');
    this.#countWords(offset, value);
    return { kind: "search", offset, field: null, text: value };
  }

  #searchText(offset: number, field: SyntaxName): SyntaxNode {
    const text = this.#value();
    this.#expect(")", '")"');
    this.#countWords(offset, text);
    return { kind: "search", offset, field, text };
  }

  #countWords(offset: number, text: SyntaxValue): void {
    this.#count(offset, text.kind === "string" ? (text.value.match(/\S+/g)?.length ?? 1) : 1);
  }

  #count(offset: number, tests: number): void {
    this.#comparisons += tests;
    if (this.#comparisons <= maxComparisons) return;
    const advice = "Use in(field, [...]) for many values of one field, or send several queries.";
    throw new FilterFault(
      offset,
      "too_large",
      `The filter has more than ${maxComparisons} comparisons and searched words. ${advice}`,
    );
  }

  #field(): SyntaxName {
    const token = this.#token;
    if (token.kind !== "word" && token.kind !== "string") throw this.#unexpected("a field name");
    this.#advance();
    return { text: token.kind === "string" ? token.value : token.text, offset: token.offset };
  }

  #value(inList = false): SyntaxValue {
    const token = this.#token;
    const { offset } = token;
    if (token.kind === "string" || token.kind === "number") {
      this.#advance();
      return { kind: token.kind, offset, value: token.value } as SyntaxValue;
    }
    const value = token.kind === "word" ? constants.get(token.text) : undefined;
    if (value !== undefined) {
      this.#advance();
      return value === null ? { kind: "null", offset, value } : { kind: "boolean", offset, value };
    }
    if (token.kind === "[" && !inList) return this.#list(offset);
    throw this.#unexpected(
      inList ? "a value" : "a value: quoted text, a number, true, false, null or a [list]",
    );
  }

  #list(offset: number): SyntaxValue {
    this.#advance();
    const items: SyntaxValue[] = [];
    if (this.#token.kind !== "]") {
      items.push(this.#value(true));
      while (this.#token.kind === ",") {
        this.#advance();
        items.push(this.#value(true));
      }
    }
    this.#expect("]", '"," or "]"');
    return { kind: "list", offset, items };
  }

  #advance(): void {
    this.#token = this.#lexer.next();
  }

  #expect(kind: Token["kind"], expected: string): void {
    if (this.#token.kind !== kind) throw this.#unexpected(expected);
    if (kind !== "end") this.#advance();
  }

  #unexpected(expected: string): FilterFault {
    const { kind, offset, text } = this.#token;
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    return kind === "end"
      ? new FilterFault(offset, "ends_too_early", "The filter ends too early.", expected)
      : new FilterFault(offset, "unexpected_text", `Unexpected ${shown}.`, expected);
  }
}
