import {
  headerBytes,
  isFrameKind,
  maxFrameLength,
  maxMessageBytes,
  moreFlag,
  ProtocolError,
  type ReceivedMessage,
} from "./frame.ts";

/** A message whose frames have not all come. Each goes to its place at once: put together at the end, 100 MB would hold up everything. */
type Partial = { lengths: number[]; total: number; bytes: Buffer | undefined; size: number };

/** Makes messages of bytes, however they were cut on their way. */
export class FrameDecoder {
  readonly #onMessage: (message: ReceivedMessage) => void;
  #chunks: Buffer[] = [];
  #size = 0;
  /** Bytes of the next thing to read; the length of a frame to begin with. */
  #wanted = 4;
  #hasLength = false;
  /** By kind and call: answers of one call may come while it is still being asked. */
  readonly #partial = new Map<string, Partial>();

  constructor(onMessage: (message: ReceivedMessage) => void) {
    this.#onMessage = onMessage;
  }

  /** Throws a ProtocolError for what is no frame. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= this.#wanted) {
      const bytes = this.#take(this.#wanted);
      if (this.#hasLength) {
        this.#wanted = 4;
        this.#hasLength = false;
        this.#frame(bytes);
      } else {
        this.#wanted = checkedLength(bytes.readUInt32BE(0));
        this.#hasLength = true;
      }
    }
  }

  #take(size: number): Buffer {
    const first = this.#chunks[0]!;
    this.#size -= size;
    if (first.length >= size) {
      if (first.length === size) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(size);
      return first.subarray(0, size);
    }
    const all = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#chunks = all.length === size ? [] : [all.subarray(size)];
    return all.subarray(0, size);
  }

  #frame(frame: Buffer): void {
    const kind = frame.readUInt8(0);
    if (!isFrameKind(kind)) throw new ProtocolError(`A frame has the unknown kind ${kind}.`);
    const more = (frame.readUInt8(1) & moreFlag) !== 0;
    const segments = frame.readUInt16BE(2);
    const call = frame.readUInt32BE(4);
    const start = headerBytes + 4 * segments;
    if (start > frame.length) throw new ProtocolError("A frame is shorter than its table.");
    const key = `${kind}:${call}`;
    const before = this.#partial.get(key);
    if (before && segments > 0)
      throw new ProtocolError(`A message of call ${call} began within another one.`);
    const body = frame.subarray(start);
    const partial = before ?? begun(frame, segments);
    const at = partial.size;
    partial.size += body.length;
    if (partial.size > partial.total)
      throw new ProtocolError(`A message of call ${call} is longer than it declared.`);
    if (more) {
      partial.bytes ??= Buffer.allocUnsafeSlow(partial.total);
      body.copy(partial.bytes, at);
      if (!before) this.#partial.set(key, partial);
      return;
    }
    if (partial.size < partial.total)
      throw new ProtocolError(`A message of call ${call} is shorter than it declared.`);
    if (before) this.#partial.delete(key);
    if (partial.bytes) body.copy(partial.bytes, at);
    this.#onMessage({ kind, call, segments: cut(partial.bytes ?? body, partial.lengths) });
  }
}

function checkedLength(length: number): number {
  if (length < headerBytes || length > maxFrameLength)
    throw new ProtocolError(`A frame declares ${length} bytes.`);
  return length;
}

function begun(frame: Buffer, segments: number): Partial {
  const lengths: number[] = [];
  let total = 0;
  for (let index = 0; index < segments; index += 1) {
    const length = frame.readUInt32BE(headerBytes + 4 * index);
    lengths.push(length);
    total += length;
  }
  if (total > maxMessageBytes)
    throw new ProtocolError(`A message declares ${total} bytes; at most ${maxMessageBytes} are allowed.`);
  return { lengths, total, bytes: undefined, size: 0 };
}

function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return bytes.subarray(at - length, at);
  });
}
