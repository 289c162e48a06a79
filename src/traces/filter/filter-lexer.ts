import { FilterFault } from "./filter-error.ts";

export type Token =
  | { kind: "(" | ")" | "[" | "]" | "," | "end"; offset: number; text: string }
  | { kind: "word"; offset: number; text: string }
  | { kind: "string"; offset: number; text: string; value: string }
  | { kind: "number"; offset: number; text: string; value: number };

const space = /\s*/y;
const word = /[A-Za-z_][A-Za-z0-9_.]*/y;
const number = /[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?/y;
const plain = { '"': /[^"\\]*/y, "'": /[^'\\]*/y };
const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "/": "/" };

/** Reads one token at a time, so that the first fault in reading order is the one reported. */
export class FilterLexer {
  readonly #text: string;
  #offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): Token {
    this.#take(space);
    const offset = this.#offset;
    const character = this.#text[offset];
    if (character === undefined) return { kind: "end", offset, text: "the end" };
    if ("()[],".includes(character)) {
      this.#offset += 1;
      return { kind: character as "(", offset, text: character };
    }
    if (character === '"' || character === "'") return this.#string(character);
    const name = this.#take(word);
    if (name !== "") return { kind: "word", offset, text: name };
    const digits = this.#take(number);
    if (digits === "") {
      const shown = JSON.stringify(String.fromCodePoint(this.#text.codePointAt(offset)!));
      throw new FilterFault(offset, "unexpected_text", `The character ${shown} has no meaning here.`);
    }
    const value = Number(digits);
    if (!Number.isFinite(value)) throw new FilterFault(offset, "too_large", "The number is too large.");
    return { kind: "number", offset, text: digits, value };
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#offset;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#offset += found.length;
    return found;
  }

  #string(quote: '"' | "'"): Token {
    const offset = this.#offset;
    this.#offset += 1;
    let value = "";
    for (;;) {
      value += this.#take(plain[quote]);
      const character = this.#text[this.#offset];
      if (character === undefined) {
        throw new FilterFault(offset, "ends_too_early", "The quoted text has no end.", `a closing ${quote}`);
      }
      this.#offset += 1;
      if (character === quote) break;
      value += this.#escape();
    }
    const nul = value.indexOf("\0");
    if (nul !== -1)
      throw new FilterFault(offset, "value_not_valid", "Text must not contain a NUL character.");
    return { kind: "string", offset, text: this.#text.slice(offset, this.#offset), value };
  }

  /** Behind a backslash. One that begins no known escape stays, so that `"\%"` reaches `like` as written. */
  #escape(): string {
    const character = this.#text[this.#offset];
    if (character === undefined) return "";
    this.#offset += 1;
    if (character === "\\" || character === '"' || character === "'") return character;
    if (character !== "u") return escapes[character] ?? `\\${character}`;
    const digits = this.#text.slice(this.#offset, this.#offset + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) {
      throw new FilterFault(
        this.#offset - 2,
        "value_not_valid",
        "The escape is incomplete.",
        "four hexadecimal digits after \\u",
      );
    }
    this.#offset += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }
}
