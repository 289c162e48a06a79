import type { Writable } from "node:stream";
import type { Message } from "./frame.ts";
import { OutgoingMessage } from "./frame-encoder.ts";

/** What the socket holds before the next frames are left in the queue, so that a short message can pass a long one. */
const socketBytes = 512 * 1024;
/** Beyond this, producers wait. */
const roomBytes = 4 * 1024 * 1024;

/** Sends messages: one write for all that came up in one turn of the event loop, calls taking turns by the frame. */
export class FrameWriter {
  readonly #socket: Writable;
  /** By call, in the order in which calls have their turn. */
  readonly #queues = new Map<number, OutgoingMessage[]>();
  #queued = 0;
  #isScheduled = false;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  constructor(socket: Writable) {
    this.#socket = socket;
    socket.on("drain", () => this.#flush());
  }

  send(message: Message): void {
    if (this.#isClosed) return;
    const outgoing = new OutgoingMessage(message);
    this.#queued += outgoing.left;
    const queue = this.#queues.get(message.call);
    if (queue) queue.push(outgoing);
    else this.#queues.set(message.call, [outgoing]);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  /** Resolves when there is room for more, or nothing will be sent any more. */
  room(): Promise<void> {
    if (!this.#isFull) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Nothing is sent any more. */
  close(): void {
    this.#isClosed = true;
    this.#queues.clear();
    this.#queued = 0;
    this.#release();
  }

  get #isFull(): boolean {
    return !this.#isClosed && this.#queued + this.#socket.writableLength > roomBytes;
  }

  #flush(): void {
    const frames: Buffer[] = [];
    let size = this.#socket.writableLength;
    while (this.#queues.size > 0 && size < socketBytes) {
      // Each call that has something to send has its turn before one has a second.
      for (const [call, queue] of [...this.#queues]) {
        const frame = this.#nextFrame(call, queue);
        frames.push(frame);
        size += frame.length;
        if (size >= socketBytes) break;
      }
    }
    if (frames.length > 0) this.#socket.write(frames.length === 1 ? frames[0] : Buffer.concat(frames));
    if (!this.#isFull) this.#release();
  }

  #nextFrame(call: number, queue: OutgoingMessage[]): Buffer {
    const message = queue[0]!;
    const left = message.left;
    const frame = message.next();
    this.#queued -= left - message.left;
    if (message.isDone) queue.shift();
    // Behind the others.
    this.#queues.delete(call);
    if (queue.length > 0) this.#queues.set(call, queue);
    return frame;
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
