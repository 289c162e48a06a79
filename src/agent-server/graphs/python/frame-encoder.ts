import { headerBytes, type Message, maxFrameBytes, maxSegments, moreFlag, ProtocolError } from "./frame.ts";

/** The frames of a message, made one at a time: those of a long one are asked for as there is room. */
export class OutgoingMessage {
  readonly #message: Message;
  readonly #lengths: number[];
  readonly #total: number;
  #sent = 0;
  #isBegun = false;
  /** Only of a message of several frames. */
  #body: Buffer | undefined;

  constructor(message: Message) {
    if (message.segments.length > maxSegments) {
      throw new ProtocolError(
        `A message has ${message.segments.length} parts; at most ${maxSegments} are possible.`,
      );
    }
    this.#message = message;
    this.#lengths = message.segments.map((segment) =>
      typeof segment === "string" ? Buffer.byteLength(segment) : segment.byteLength,
    );
    this.#total = this.#lengths.reduce((sum, length) => sum + length, 0);
  }

  /** Bytes that are not in a frame yet. */
  get left(): number {
    return this.#total - this.#sent;
  }

  get isDone(): boolean {
    return this.#isBegun && this.left === 0;
  }

  next(): Buffer {
    const size = Math.min(this.left, maxFrameBytes);
    const table = this.#isBegun ? [] : this.#lengths;
    const frame = Buffer.allocUnsafe(4 + headerBytes + 4 * table.length + size);
    const { kind, call } = this.#message;
    frame.writeUInt32BE(frame.length - 4, 0);
    frame.writeUInt8(kind, 4);
    frame.writeUInt8(size < this.left ? moreFlag : 0, 5);
    frame.writeUInt16BE(table.length, 6);
    frame.writeUInt32BE(call, 8);
    let at = 12;
    for (const length of table) at = frame.writeUInt32BE(length, at);
    this.#isBegun = true;
    this.#copy(frame, at, size);
    this.#sent += size;
    return frame;
  }

  #copy(frame: Buffer, at: number, size: number): void {
    if (size === this.#total) {
      this.#writeAll(frame, at);
      return;
    }
    if (this.#body === undefined) {
      this.#body = Buffer.allocUnsafe(this.#total);
      this.#writeAll(this.#body, 0);
    }
    this.#body.copy(frame, at, this.#sent, this.#sent + size);
  }

  #writeAll(target: Buffer, start: number): void {
    let at = start;
    for (const [index, segment] of this.#message.segments.entries()) {
      if (typeof segment === "string") target.write(segment, at);
      else target.set(segment, at);
      at += this.#lengths[index]!;
    }
  }
}
