import { largeEventLength } from "./shared-frame.ts";
import type { ThreadEvent } from "./thread-event.ts";

/** Large events that some reader still holds, so that who reads one later holds the same and not a copy. */
export class LargeEvents {
  readonly #held = new Map<string, WeakRef<ThreadEvent>>();
  readonly #gone = new FinalizationRegistry<string>((key) => {
    if (this.#held.get(key)?.deref() === undefined) this.#held.delete(key);
  });

  same(event: ThreadEvent): ThreadEvent {
    if (event.data.length < largeEventLength) return event;
    const key = `${event.threadId} ${event.seq}`;
    const held = this.#held.get(key)?.deref();
    if (held) return held;
    this.#held.set(key, new WeakRef(event));
    this.#gone.register(event, key);
    return event;
  }
}
