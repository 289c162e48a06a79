import { expect, it } from "vitest";
import { NumberedFeed } from "./numbered-feed.ts";

/** Rows as a database shows them: those of open transactions are not there yet. */
class Rows {
  readonly #ids = new Set<number>();

  add(...ids: number[]): void {
    for (const id of ids) this.#ids.add(id);
  }

  feed(): NumberedFeed<{ id: number }> {
    return new NumberedFeed(async (after, limit) =>
      [...this.#ids]
        .filter((id) => id > after)
        .sort((a, b) => a - b)
        .slice(0, limit)
        .map((id) => ({ id })),
    );
  }
}

async function take(feed: NumberedFeed<{ id: number }>, limit = 10): Promise<number[]> {
  const batch = await feed.next(limit);
  feed.stored(batch, batch.upto);
  return batch.rows.map(({ id }) => id);
}

it("gives each row once, in batches, also one that appears after later ones", async () => {
  const rows = new Rows();
  const feed = rows.feed();
  feed.begin(0);
  rows.add(1, 2, 4, 5);
  expect([await take(feed, 3), await take(feed, 3)]).toEqual([[1, 2, 4], [5]]);
  rows.add(3);
  expect([await take(feed), await take(feed)]).toEqual([[3], []]);
});

it("does not tell again what was there before it began", async () => {
  const rows = new Rows();
  rows.add(1, 2, 3);
  const feed = rows.feed();
  feed.begin(2);
  expect(await take(feed)).toEqual([3]);
});

it("sends a batch again until it is stored, and follows the other side's cursor", async () => {
  const rows = new Rows();
  rows.add(1, 2, 3);
  const feed = rows.feed();
  feed.begin(0);
  const first = await feed.next(10);
  expect(await feed.next(10)).toEqual(first);
  // The other side has stored it already: it answers with where it is, and nothing is sent twice.
  feed.stored({ ...first, upto: 2 }, 3);
  expect(await take(feed)).toEqual([]);
});
