import { stripVTControlCharacters } from "node:util";

/** Characters that take two columns: East Asian wide ones and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += wide.test(character) ? 2 : 1;
  return width;
}

/** Text from elsewhere, safe to show: control sequences that move the cursor or change colours are removed. */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
  return stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

/** One line of it. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

export function fitText(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 1) return "…".slice(0, width);
  let kept = "";
  let used = 0;
  for (const character of text) {
    const next = widthOf(character);
    if (used + next > width - 1) break;
    kept += character;
    used += next;
  }
  return `${kept.trimEnd()}…`;
}

export function padText(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

export function firstLine(text: string): string {
  return text.trimStart().split("\n", 1)[0] ?? "";
}
