import type { Database, Unlisten } from "../../platform/db/database.ts";

const channelName = "treadle_awaited_threads";
/** NOTIFY refuses payloads of 8,000 bytes and more; a thread id takes 37. */
const maxIdsPerNotice = 200;
const announceEveryMs = 20_000;
/** Three announcements may be lost before another process forgets. */
const forgetAfterMs = 70_000;

/**
 * Threads that clients of the streaming protocol listen to although they do not exist yet. They have no row that could
 * mark their runs as speaking the protocol, so the process that runs the first one asks here. Processes notify each
 * other while there are others.
 */
export class AwaitedThreads {
  readonly #database: Database;
  readonly #here = new Map<string, number>();
  /** Awaited at another process, and until when that holds. */
  readonly #elsewhere = new Map<string, number>();
  #othersListen = false;
  #unlisten: Unlisten | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#database.listen(
      channelName,
      (payload) => this.#note(payload.split(",")),
      () => this.#repeat(),
    );
  }

  async stop(): Promise<void> {
    this.#stopRepeating();
    await this.#unlisten?.();
  }

  setOthersListen(othersListen: boolean): void {
    const before = this.#othersListen;
    this.#othersListen = othersListen;
    if (othersListen && !before) this.#repeat();
  }

  /** After this resolves, the thread's first run speaks the protocol in every process, until the result is called. */
  async add(threadId: string): Promise<() => void> {
    this.#here.set(threadId, (this.#here.get(threadId) ?? 0) + 1);
    const remove = () => {
      const left = (this.#here.get(threadId) ?? 0) - 1;
      if (left > 0) this.#here.set(threadId, left);
      else this.#here.delete(threadId);
    };
    this.#keepRepeating();
    try {
      if (this.#othersListen) await this.#database.notify(channelName, threadId);
    } catch (error) {
      remove();
      throw error;
    }
    return remove;
  }

  has(threadId: string): boolean {
    return this.#here.has(threadId) || (this.#elsewhere.get(threadId) ?? 0) > Date.now();
  }

  #note(threadIds: readonly string[]): void {
    const now = Date.now();
    for (const [threadId, until] of this.#elsewhere) if (until <= now) this.#elsewhere.delete(threadId);
    for (const threadId of threadIds) this.#elsewhere.set(threadId, now + forgetAfterMs);
  }

  /** Only while there is something to tell and somebody to hear it. */
  #keepRepeating(): boolean {
    const tells = this.#othersListen && this.#here.size > 0;
    if (tells) this.#timer ??= setInterval(() => this.#repeat(), announceEveryMs).unref();
    else this.#stopRepeating();
    return tells;
  }

  #stopRepeating(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #repeat(): void {
    if (!this.#keepRepeating()) return;
    const ids = [...this.#here.keys()];
    for (let first = 0; first < ids.length; first += maxIdsPerNotice) {
      // A lost notice does no harm: the next one says the same.
      this.#database
        .notify(channelName, ids.slice(first, first + maxIdsPerNotice).join(","))
        .catch(() => undefined);
    }
  }
}
