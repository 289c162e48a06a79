import { frameKinds, type Message, ProtocolError, type Segment } from "./frame.ts";

export type Meta = Record<string, unknown>;

/** A message's JSON, and what came with it. */
export type Incoming = { meta: Meta; segments: readonly Buffer[] };

/** What a call sends its messages through. */
export type Link = { send(message: Message): void; room(): Promise<void> };

/** What a sender may send before it is granted more; both sides begin with it. */
const firstItems = 512;
const firstBytes = 1024 * 1024;
/** What was taken is granted again in portions. */
const grantItems = firstItems / 2;
const grantBytes = firstBytes / 2;

/** One call that carries many messages, in one direction or both. */
export class CallStream {
  readonly call: number;
  readonly #link: Link;
  readonly #arrived: Incoming[] = [];
  #taken = { items: 0, bytes: 0 };
  #credit = { items: firstItems, bytes: firstBytes };
  #state: { kind: "open" } | { kind: "ended" } | { kind: "failed"; error: unknown } = { kind: "open" };
  #onArrival: (() => void) | undefined;
  #onCredit: (() => void) | undefined;
  readonly #cancelled = new AbortController();
  #isFinished = false;

  constructor(call: number, link: Link) {
    this.call = call;
    this.#link = link;
  }

  /** The other side does not want the answer any more. */
  get signal(): AbortSignal {
    return this.#cancelled.signal;
  }

  /** What the other side sends, in order; taken once. Throws what the call failed with, after what came before. */
  async *items(): AsyncGenerator<Incoming> {
    for (;;) {
      const item = this.#arrived.shift();
      if (item) {
        this.#grant(item);
        yield item;
      } else if (this.#state.kind === "open") await this.#arrival();
      else if (this.#state.kind === "failed") throw this.#state.error;
      else return;
    }
  }

  /** Waits until the other side can take it. Resolves with whether anybody is there to take it. */
  async send(meta: Meta, segments: readonly Segment[] = []): Promise<boolean> {
    const bytes = segments.reduce((sum, segment) => sum + segment.length, 0);
    while (this.#isStuck) await new Promise<void>((resolve) => (this.#onCredit = resolve));
    await this.#link.room();
    if (this.#isOver) return false;
    this.#credit.items -= 1;
    this.#credit.bytes -= bytes;
    this.#send(frameKinds.item, meta, segments);
    return true;
  }

  end(meta: Meta = {}): void {
    this.#send(frameKinds.end, meta);
  }

  /** Asks the other side to end; it still answers. */
  cancel(): void {
    this.#send(frameKinds.cancel, {});
  }

  /** Whether the other side has answered, or is gone; one that was given up may still be under way there. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** The only thing the other side sends, where it is to answer once. */
  async answer(): Promise<Incoming> {
    for await (const item of this.items()) return item;
    throw new ProtocolError(`Call ${this.call} ended without a response.`);
  }

  // The channel reports what follows, except for a call that is given up.

  finished(): void {
    this.#isFinished = true;
  }

  arrived(item: Incoming): void {
    if (this.#state.kind !== "open") return;
    if (this.#arrived.length > 2 * firstItems) throw new ProtocolError("More was sent than was granted.");
    this.#arrived.push(item);
    this.#wake();
  }

  ended(): void {
    if (this.#state.kind === "open") this.#state = { kind: "ended" };
    this.#wake();
  }

  failed(error: unknown): void {
    if (this.#state.kind === "open") this.#state = { kind: "failed", error };
    this.cancelled();
    this.#wake();
  }

  cancelled(): void {
    this.#cancelled.abort();
    this.#onCredit?.();
  }

  credited({ items = 0, bytes = 0 }: { items?: number; bytes?: number }): void {
    this.#credit.items += items;
    this.#credit.bytes += bytes;
    this.#onCredit?.();
  }

  get #isOver(): boolean {
    return this.#cancelled.signal.aborted;
  }

  get #isStuck(): boolean {
    return !this.#isOver && (this.#credit.items <= 0 || this.#credit.bytes <= 0);
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => (this.#onArrival = resolve));
  }

  #wake(): void {
    const wake = this.#onArrival;
    this.#onArrival = undefined;
    wake?.();
  }

  #grant({ segments }: Incoming): void {
    this.#taken.items += 1;
    for (const segment of segments) this.#taken.bytes += segment.length;
    if (this.#taken.items < grantItems && this.#taken.bytes < grantBytes) return;
    if (this.#state.kind === "open") this.#send(frameKinds.credit, this.#taken);
    this.#taken = { items: 0, bytes: 0 };
  }

  #send(kind: Message["kind"], meta: Meta, segments: readonly Segment[] = []): void {
    this.#link.send({ kind, call: this.call, segments: [JSON.stringify(meta), ...segments] });
  }
}
