import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { mayHoldTrigrams, neededTrigrams } from "../../platform/db/trigram-condition.ts";
import { bitText, trigramsOf } from "../../platform/db/trigrams.ts";

/** What a thread keeps to be found by its words, of the JSON of its values. Null: it is to be read in any case. */
export function wordBitsOf(valuesJson: string | null): string | null {
  return bitText(trigramsOf([Buffer.from(valuesJson ?? "")]));
}

/** The words of a search: each must occur, in any order and in upper or lower case. */
export function wordsOf(query: string): string[] {
  return query.split(/\s+/).filter((word) => word !== "");
}

/** Whether the thread may hold the words, by its bits alone; undefined where they say nothing. */
export function mayHoldWords(words: readonly string[]): RawBuilder<unknown> | undefined {
  const needed = neededTrigrams(words);
  return needed === null ? undefined : mayHoldTrigrams(needed, raw.ref("may.trigrams"));
}

/** Whether it does. */
export function holdsWords(words: readonly string[]): RawBuilder<unknown> {
  return raw.join(
    words.map((word) => raw`values_json ilike ${likePattern(word)}`),
    raw` and `,
  );
}

/** As it is written in JSON, anywhere in the text. */
export function likePattern(word: string): string {
  const written = JSON.stringify(word).slice(1, -1);
  return `%${written.replace(/[\\%_]/g, "\\$&")}%`;
}
