import type { Caller } from "../../platform/http/access/caller.ts";
import { type EventFilter, matchesFilter } from "../../platform/streaming-protocol/subscription-filter.ts";
import { namespaceOf } from "../delivery/protocol-event.ts";
import type { ThreadEvent } from "../delivery/thread-event.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import type { ThreadAccess } from "./thread-access.ts";

export type EventReaderOptions = { feed: ThreadFeed; access: ThreadAccess };

/** Reads a thread's protocol events out of its log: what is there, in order, and then what comes. */
export class EventReader {
  readonly #feed: ThreadFeed;
  readonly #access: ThreadAccess;

  constructor(options: EventReaderOptions) {
    this.#feed = options.feed;
    this.#access = options.access;
  }

  /** Call before answering a client that listens to a thread which does not exist yet; the result ends it. */
  expect(threadId: string): Promise<() => void> {
    return this.#feed.awaited.add(threadId);
  }

  /**
   * Pages of protocol events after a place in the log, until the signal fires. `seq` is how far the log was read.
   * `admitted`: there was such a thread when the reader came, and it was the caller's.
   */
  async *follow(
    caller: Caller,
    { threadId, afterSeq, ...given }: { threadId: string; afterSeq: number; admitted: boolean },
    signal: AbortSignal,
  ): AsyncGenerator<{ events: ThreadEvent[]; seq: number }> {
    let { admitted } = given;
    for await (const page of this.#feed.read(threadId, afterSeq, signal)) {
      if (page.length === 0) continue;
      // The thread has been made, by whomever, after this reader came.
      if (!admitted) await this.#access.open(caller, threadId);
      admitted = true;
      yield { events: protocolEvents(page), seq: page.at(-1)!.seq };
    }
  }

  /** Pages of protocol events after number `since` up to the place `throughSeq`, without waiting for more. */
  async *replay(threadId: string, since: number, throughSeq: number): AsyncGenerator<ThreadEvent[]> {
    // The log holds other events too: the place of an event is never before its number.
    let cursor = since;
    while (cursor < throughSeq) {
      const page = await this.#feed.page(threadId, cursor);
      if (page.length === 0) return;
      cursor = page.at(-1)!.seq;
      yield protocolEvents(page).filter((event) => event.number > since && event.seq <= throughSeq);
    }
  }
}

function protocolEvents(page: readonly ThreadEvent[]): ThreadEvent[] {
  return page.filter((event) => event.family === "protocol");
}

export function selectEvents(events: readonly ThreadEvent[], filters: readonly EventFilter[]): ThreadEvent[] {
  return events.filter((event) => {
    const seen = { name: event.name, namespace: namespaceOf(event) };
    return filters.some((filter) => matchesFilter(seen, filter));
  });
}
