import { setTimeout as delay } from "node:timers/promises";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { databaseTrouble } from "../../platform/db/database-errors.ts";
import { ReaderBudget } from "../../platform/http/server/reader-budget.ts";
import { AwaitedThreads } from "./awaited-threads.ts";
import { Bell } from "./bell.ts";
import { readEvents } from "./event-store.ts";
import { LargeEvents } from "./large-events.ts";
import type { ThreadEvent } from "./thread-event.ts";

const channelName = "treadle_thread_events";
const ringSize = 512;
const pageSize = 500;
const pageBytes = 1_000_000;
/** What the ring of one thread keeps, beyond its newest event. */
const ringBytes = 8_000_000;
const defaultReaderBytes = 64_000_000;
/** NOTIFY refuses payloads of 8,000 bytes and more; a thread id takes 37. */
const maxIdsPerNotice = 200;
/** A reader looks for itself this often, should an announcement ever be lost. */
const safetyMs = 15_000;
const pagePauseMs = 500;
const maxPageTries = 60;

type Channel = {
  /** The newest committed events, without gaps; readers further behind page through the log. */
  ring: ThreadEvent[];
  /** How long their data is together. */
  ringLength: number;
  /** Everything after this number is in the ring. */
  ringAfter: number;
  /** Whether a run of this process writes here. Then no other process does. */
  local: boolean;
  /** How many of those with a bell read the events, and not only wait for a change. */
  listeners: number;
  bells: Set<Bell>;
};

/**
 * Delivers committed events to readers. A reader owns only a cursor: the log in Postgres is the buffer, so a slow
 * reader costs no memory. The ring only saves fast readers a query.
 */
export class ThreadFeed {
  readonly awaited: AwaitedThreads;
  /** For what is encoded and waits until its readers take it. */
  readonly budget: ReaderBudget;
  readonly #database: Database;
  readonly #channels = new Map<string, Channel>();
  readonly #reading = new Map<string, Promise<ThreadEvent[]>>();
  readonly #large = new LargeEvents();
  #unlisten: Unlisten | undefined;
  #othersListen = false;
  /** Threads with a reader of a run of this process. */
  #followed = 0;

  constructor(database: Database, options: { readerBytes?: number; onReaderCut?(): void } = {}) {
    this.#database = database;
    this.budget = new ReaderBudget({
      maxBytes: options.readerBytes ?? defaultReaderBytes,
      onCut: () => options.onReaderCut?.(),
    });
    this.awaited = new AwaitedThreads(database);
  }

  async start(): Promise<void> {
    await this.awaited.start();
    this.#unlisten = await this.#database.listen(
      channelName,
      (payload) => {
        for (const threadId of payload.split(",")) this.#wakeRemote(threadId);
      },
      () => {
        for (const threadId of this.#channels.keys()) this.#wakeRemote(threadId);
      },
    );
  }

  async stop(): Promise<void> {
    await this.awaited.stop();
    await this.#unlisten?.();
    for (const channel of this.#channels.values()) wakeAll(channel);
  }

  /** Announcements cost every commit, so they are made only while another process is alive. */
  setOthersListen(othersListen: boolean): void {
    this.#othersListen = othersListen;
    this.awaited.setOthersListen(othersListen);
  }

  get othersListen(): boolean {
    return this.#othersListen;
  }

  /** Whether a run of this process has a listener. */
  get hasListeners(): boolean {
    return this.#followed > 0;
  }

  /** A run of this process begins to write after `seq`. */
  open(threadId: string, seq: number): void {
    const channel = this.#channel(threadId);
    this.#change(channel, () => {
      channel.local = true;
    });
    channel.ring = [];
    channel.ringLength = 0;
    channel.ringAfter = seq;
  }

  close(threadId: string): void {
    const channel = this.#channels.get(threadId);
    if (!channel) return;
    this.#change(channel, () => {
      channel.local = false;
    });
    this.#release(threadId, channel);
    // Another process may have gone on with the thread while its announcements did not matter here.
    wakeAll(channel);
  }

  /** Hands committed events to local readers and notifies other processes where to look. */
  publish(events: readonly ThreadEvent[]): void {
    const touched = new Set<string>();
    for (const event of events) {
      touched.add(event.threadId);
      const channel = this.#channels.get(event.threadId);
      if (!channel) continue;
      channel.ring.push(event);
      channel.ringLength += event.data.length;
      if (channel.ring.length > ringSize * 2) shorten(channel, channel.ring.length - ringSize);
      while (channel.ringLength > ringBytes && channel.ring.length > 1) shorten(channel, 1);
    }
    for (const threadId of touched) {
      const channel = this.#channels.get(threadId);
      if (channel) wakeAll(channel);
    }
    if (this.#othersListen) this.#announce([...touched]);
  }

  /**
   * Events after `afterSeq` in order, first from the log, then as they are committed, until the signal
   * fires or the consumer stops. An empty page means: something happened that is not an event.
   */
  async *read(threadId: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<ThreadEvent[]> {
    const { channel, bell, leave } = this.#join(threadId, signal, 1);
    let cursor = afterSeq;
    try {
      while (!signal.aborted) {
        const rang = bell.take();
        const page = this.#recent(channel, cursor) ?? (await this.#pagePatiently(threadId, cursor, signal));
        if (page.length === 0 && !rang) {
          await bell.rings();
          continue;
        }
        cursor = page.at(-1)?.seq ?? cursor;
        yield page;
      }
    } finally {
      leave();
    }
  }

  /** Yields at once and then whenever something may have happened on the thread, until the signal fires. */
  async *changes(threadId: string, signal: AbortSignal): AsyncGenerator<void> {
    const { bell, leave } = this.#join(threadId, signal, 0);
    try {
      while (!signal.aborted) {
        bell.take();
        yield;
        await bell.rings();
      }
    } finally {
      leave();
    }
  }

  /** A change on the thread that has no event, for example a queued run was cancelled. */
  touch(threadId: string): void {
    const channel = this.#channels.get(threadId);
    if (channel) wakeAll(channel);
    if (this.#othersListen) this.#announce([threadId]);
  }

  /** One page of the log after `afterSeq`. */
  page(threadId: string, afterSeq: number): Promise<ThreadEvent[]> {
    // Many readers of one thread often stand at the same place: they are read to once.
    const key = `${threadId} ${afterSeq}`;
    let reading = this.#reading.get(key);
    if (!reading) {
      const limits = { limit: pageSize, bytes: pageBytes };
      reading = readEvents(this.#database, threadId, afterSeq, limits)
        .then((events) => events.map((event) => this.#large.same(event)))
        .finally(() => this.#reading.delete(key));
      this.#reading.set(key, reading);
    }
    return reading;
  }

  /** A reader waits while the database is away: it lost nothing, and a reconnection would need the same database. */
  async #pagePatiently(threadId: string, cursor: number, signal: AbortSignal): Promise<ThreadEvent[]> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.page(threadId, cursor);
      } catch (error) {
        if (signal.aborted || tries >= maxPageTries || !databaseTrouble(error)) throw error;
        // An abort ends the pause; the next round throws.
        await delay(pagePauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  /** What this process itself wrote after the cursor; undefined when only the log has it. */
  #recent(channel: Channel, cursor: number): ThreadEvent[] | undefined {
    if (!channel.local || cursor < channel.ringAfter) return undefined;
    const { ring } = channel;
    let first = ring.length;
    while (first > 0 && ring[first - 1]!.seq > cursor) first -= 1;
    return ring.slice(first);
  }

  #join(
    threadId: string,
    signal: AbortSignal,
    listeners: 0 | 1,
  ): { channel: Channel; bell: Bell; leave(): void } {
    const channel = this.#channel(threadId);
    const bell = new Bell();
    this.#change(channel, () => {
      channel.listeners += listeners;
    });
    channel.bells.add(bell);
    signal.addEventListener("abort", bell.ring, { once: true });
    const safety = setInterval(bell.ring, safetyMs);
    safety.unref();
    const leave = () => {
      clearInterval(safety);
      signal.removeEventListener("abort", bell.ring);
      channel.bells.delete(bell);
      this.#change(channel, () => {
        channel.listeners -= listeners;
      });
      this.#release(threadId, channel);
    };
    return { channel, bell, leave };
  }

  #change(channel: Channel, change: () => void): void {
    const before = channel.local && channel.listeners > 0;
    change();
    const after = channel.local && channel.listeners > 0;
    this.#followed += Number(after) - Number(before);
  }

  #channel(threadId: string): Channel {
    let channel = this.#channels.get(threadId);
    if (!channel) {
      channel = {
        ring: [],
        ringLength: 0,
        ringAfter: Number.MAX_SAFE_INTEGER,
        local: false,
        listeners: 0,
        bells: new Set(),
      };
      this.#channels.set(threadId, channel);
    }
    return channel;
  }

  #release(threadId: string, channel: Channel): void {
    if (!channel.local) {
      channel.ring = [];
      channel.ringLength = 0;
      channel.ringAfter = Number.MAX_SAFE_INTEGER;
      if (channel.bells.size === 0) this.#channels.delete(threadId);
    }
  }

  #wakeRemote(threadId: string): void {
    const channel = this.#channels.get(threadId);
    if (channel && !channel.local) wakeAll(channel);
  }

  #announce(threadIds: string[]): void {
    for (let first = 0; first < threadIds.length; first += maxIdsPerNotice) {
      const ids = threadIds.slice(first, first + maxIdsPerNotice).join(",");
      // A lost announcement only delays a remote reader until its own next look.
      this.#database.notify(channelName, ids).catch(() => undefined);
    }
  }
}

function shorten(channel: Channel, count: number): void {
  for (const { data } of channel.ring.splice(0, count)) channel.ringLength -= data.length;
  channel.ringAfter = channel.ring[0]!.seq - 1;
}

function wakeAll(channel: Channel): void {
  for (const bell of channel.bells) bell.ring();
}
