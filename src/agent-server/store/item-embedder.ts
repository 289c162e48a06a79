import { AppError, errorMessage } from "../../platform/errors.ts";
import type { PutItem } from "./item.ts";
import { textsAt } from "./item-text.ts";

/** One vector per text, in the same order. */
export type EmbedText = (texts: string[]) => Promise<number[][]>;

export type StoreIndex = {
  embed: EmbedText;
  dims: number;
  /** Paths of the texts to index; the whole value when there are none. */
  fields?: string[];
};

const textsPerCall = 128;

/** Turns texts into unit vectors, and refuses what the index could not hold. */
export class ItemEmbedder {
  readonly dims: number;
  readonly #index: StoreIndex;

  constructor(index: StoreIndex) {
    this.#index = index;
    this.dims = index.dims;
  }

  async embedQuery(query: string): Promise<number[]> {
    const [vector] = await this.#embed([query]);
    return vector!;
  }

  /** The vectors of each item, none for those that ask not to be indexed. */
  async embedItems(items: readonly PutItem[]): Promise<number[][][]> {
    const texts = items.map((item) => this.#textsOf(item));
    const distinct = [...new Set(texts.flat())];
    const vectors = new Map<string, number[]>();
    for (let start = 0; start < distinct.length; start += textsPerCall) {
      const chunk = distinct.slice(start, start + textsPerCall);
      const embedded = await this.#embed(chunk);
      for (const [position, text] of chunk.entries()) vectors.set(text, embedded[position]!);
    }
    // A vector of zeros has no direction: nothing is similar to it.
    return texts.map((own) => own.map((text) => vectors.get(text)!).filter((vector) => vector.some(Boolean)));
  }

  #textsOf(item: PutItem): string[] {
    if (item.index === false) return [];
    const paths = item.index ?? this.#index.fields ?? ["$"];
    return paths.flatMap((path) => textsAt(item.value, path));
  }

  async #embed(texts: string[]): Promise<number[][]> {
    const vectors = await this.#index.embed(texts).catch((cause: unknown) => {
      throw unusable(`The embedding function of the store failed: ${errorMessage(cause)}`, cause);
    });
    if (vectors.length !== texts.length) {
      throw unusable(
        `The embedding function of the store returned ${vectors.length} vectors for ${texts.length} texts.`,
      );
    }
    return vectors.map((vector) => this.#unit(vector));
  }

  #unit(vector: number[]): number[] {
    if (vector.length !== this.dims) {
      throw unusable(
        `The embedding function of the store returned ${vector.length} numbers, but store.index.dims is ${this.dims}. Make them equal.`,
      );
    }
    const length = Math.hypot(...vector);
    if (!Number.isFinite(length)) {
      throw unusable("The embedding function of the store returned a value that is not a finite number.");
    }
    return length === 0 ? vector : vector.map((number) => number / length);
  }
}

function unusable(message: string, cause?: unknown): AppError {
  return new AppError({ code: "store.embedding_failed", kind: "bad_gateway", message, cause });
}
