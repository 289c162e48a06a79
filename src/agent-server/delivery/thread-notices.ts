import type { Database } from "../../platform/db/database.ts";
import { maxThreadsPerNotice, noticeText } from "./thread-notice.ts";

/**
 * Tells the other processes on which threads something happened. What happens in one turn of the event loop, and while
 * a notice is on its way, goes together: a notice for each event would cost more than the event.
 */
export class ThreadNotices {
  readonly #database: Database;
  readonly #channel: string;
  /** Threads still to be named, and whether a run of theirs may be over. */
  readonly #waiting = new Map<string, boolean>();
  #sending: Promise<void> | undefined;

  constructor(database: Database, channel: string) {
    this.#database = database;
    this.#channel = channel;
  }

  add(threadId: string, ended: boolean): void {
    this.#waiting.set(threadId, ended || (this.#waiting.get(threadId) ?? false));
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Resolves when everything is on its way that was to be told. */
  async settled(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.size > 0) {
      const next = [...this.#waiting].slice(0, maxThreadsPerNotice);
      for (const [threadId] of next) this.#waiting.delete(threadId);
      const text = noticeText(next.map(([threadId, ended]) => ({ threadId, ended })));
      // A lost notice only delays a remote reader until its own next look.
      await this.#database.notify(this.#channel, text).catch(() => undefined);
    }
  }
}
