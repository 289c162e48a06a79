import { setTimeout as delay } from "node:timers/promises";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { databaseTrouble } from "../../platform/db/database-errors.ts";
import { ReaderBudget } from "../../platform/http/server/reader-budget.ts";
import { AwaitedThreads } from "./awaited-threads.ts";
import { Bell } from "./bell.ts";
import { readEvents } from "./event-store.ts";
import { LargeEvents } from "./large-events.ts";
import type { ThreadEvent } from "./thread-event.ts";
import { readNotice, type ThreadNotice } from "./thread-notice.ts";
import { ThreadNotices } from "./thread-notices.ts";

const channelName = "treadle_thread_events";
const ringSize = 512;
const pageSize = 500;
const pageBytes = 1_000_000;
/** What the ring of one thread keeps, beyond its newest event. */
const ringBytes = 8_000_000;
const defaultReaderBytes = 64_000_000;
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
  /** Of those that read the events. */
  readers: Set<Bell>;
  /** Of those that only wait until a run is over. */
  waiters: Set<Bell>;
  /** Called for each new reader. */
  onReader: (() => void) | undefined;
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
  readonly #notices: ThreadNotices;
  #unlisten: Unlisten | undefined;
  #othersListen = false;
  #onOthers: (() => void) | undefined;
  /** Threads with a reader of a run of this process. */
  #followed = 0;

  constructor(database: Database, options: { readerBytes?: number; onReaderCut?(): void } = {}) {
    this.#database = database;
    this.budget = new ReaderBudget({
      maxBytes: options.readerBytes ?? defaultReaderBytes,
      onCut: () => options.onReaderCut?.(),
    });
    this.awaited = new AwaitedThreads(database);
    this.#notices = new ThreadNotices(database, channelName);
  }

  async start(): Promise<void> {
    await this.awaited.start();
    this.#unlisten = await this.#database.listen(
      channelName,
      (payload) => {
        for (const notice of readNotice(payload)) this.#wakeRemote(notice);
      },
      () => {
        for (const threadId of this.#channels.keys()) this.#wakeRemote({ threadId, ended: true });
      },
    );
  }

  async stop(): Promise<void> {
    await this.awaited.stop();
    await this.#unlisten?.();
    for (const channel of this.#channels.values()) wake(channel, true);
    await this.#notices.settled();
  }

  /** Announcements cost every commit, so they are made only while another process is alive. */
  setOthersListen(othersListen: boolean): void {
    const before = this.#othersListen;
    this.#othersListen = othersListen;
    this.awaited.setOthersListen(othersListen);
    if (othersListen && !before) this.#onOthers?.();
  }

  /** Called when this process is no longer the only one: the other may die, and one alone looks for such runs too rarely. */
  whenOthersCome(call: () => void): void {
    this.#onOthers = call;
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

  /** Whether somebody may be reading the thread. What readers in other processes do is not known here. */
  isFollowed(threadId: string): boolean {
    return this.#othersListen || (this.#channels.get(threadId)?.readers.size ?? 0) > 0;
  }

  /** Until the thread is closed. */
  whenFollowed(threadId: string, call: () => void): void {
    this.#channel(threadId).onReader = call;
  }

  close(threadId: string): void {
    const channel = this.#channels.get(threadId);
    if (!channel) return;
    channel.onReader = undefined;
    this.#change(channel, () => {
      channel.local = false;
    });
    this.#release(threadId, channel);
    // Another process may have gone on with the thread while its announcements did not matter here.
    wake(channel, true);
  }

  /** Hands committed events to local readers and notifies other processes where to look. */
  publish(events: readonly ThreadEvent[]): void {
    /** By thread, whether a run is over. */
    const touched = new Map<string, boolean>();
    for (const event of events) {
      touched.set(event.threadId, event.family === "control" || (touched.get(event.threadId) ?? false));
      const channel = this.#channels.get(event.threadId);
      if (!channel) continue;
      channel.ring.push(event);
      channel.ringLength += event.data.length;
      if (channel.ring.length > ringSize * 2) shorten(channel, channel.ring.length - ringSize);
      while (channel.ringLength > ringBytes && channel.ring.length > 1) shorten(channel, 1);
    }
    for (const [threadId, ended] of touched) {
      const channel = this.#channels.get(threadId);
      if (channel) wake(channel, ended);
      if (this.#othersListen) this.#notices.add(threadId, ended);
    }
  }

  /**
   * Events after `afterSeq` in order, first from the log, then as they are committed, until the signal
   * fires or the consumer stops. An empty page means: something happened that is not an event.
   */
  async *read(threadId: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<ThreadEvent[]> {
    const { channel, bell, leave } = this.#join(threadId, signal, "readers");
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

  /** Yields at once and then whenever a run of the thread may be over, until the signal fires. */
  async *ends(threadId: string, signal: AbortSignal): AsyncGenerator<void> {
    const { bell, leave } = this.#join(threadId, signal, "waiters");
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
    if (channel) wake(channel, true);
    if (this.#othersListen) this.#notices.add(threadId, true);
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
    kind: "readers" | "waiters",
  ): { channel: Channel; bell: Bell; leave(): void } {
    const channel = this.#channel(threadId);
    const bell = new Bell();
    this.#change(channel, () => channel[kind].add(bell));
    if (kind === "readers") channel.onReader?.();
    signal.addEventListener("abort", bell.ring, { once: true });
    const safety = setInterval(bell.ring, safetyMs);
    safety.unref();
    const leave = () => {
      clearInterval(safety);
      signal.removeEventListener("abort", bell.ring);
      this.#change(channel, () => channel[kind].delete(bell));
      this.#release(threadId, channel);
    };
    return { channel, bell, leave };
  }

  #change(channel: Channel, change: () => unknown): void {
    const before = channel.local && channel.readers.size > 0;
    change();
    const after = channel.local && channel.readers.size > 0;
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
        readers: new Set(),
        waiters: new Set(),
        onReader: undefined,
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
      if (channel.readers.size + channel.waiters.size === 0) this.#channels.delete(threadId);
    }
  }

  #wakeRemote({ threadId, ended }: ThreadNotice): void {
    const channel = this.#channels.get(threadId);
    if (channel && !channel.local) wake(channel, ended);
  }
}

function shorten(channel: Channel, count: number): void {
  for (const { data } of channel.ring.splice(0, count)) channel.ringLength -= data.length;
  channel.ringAfter = channel.ring[0]!.seq - 1;
}

function wake(channel: Channel, ended: boolean): void {
  for (const bell of channel.readers) bell.ring();
  if (ended) for (const bell of channel.waiters) bell.ring();
}
