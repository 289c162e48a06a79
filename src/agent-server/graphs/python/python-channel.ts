import type { Duplex } from "node:stream";
import { AppError, errorMessage } from "../../../platform/errors.ts";
import { CallStream, type Incoming, type Meta } from "./call-stream.ts";
import { frameKinds, type Message, ProtocolError, type ReceivedMessage, type Segment } from "./frame.ts";
import { FrameDecoder } from "./frame-decoder.ts";
import { FrameWriter } from "./frame-writer.ts";
import { toRemoteError } from "./remote-error.ts";

export type Answer = { meta?: Meta; segments?: readonly Segment[] };

/** What the other side may ask, by method. */
export type CallHandlers = {
  /** Answered once. */
  unary: Readonly<Record<string, (request: Incoming) => Promise<Answer>>>;
  /** Answered with what it sends; its end is sent when it resolves. */
  streaming: Readonly<Record<string, (request: Incoming, stream: CallStream) => Promise<void>>>;
  /** A call without an answer. */
  noted: Readonly<Record<string, (request: Incoming) => void>>;
};

export type PythonChannelOptions = {
  socket: Duplex;
  handlers: CallHandlers;
  /** The other side sent what it must not; it cannot be talked to any more. */
  onProtocolError(error: ProtocolError): void;
  /** A call that was opened is over. */
  onEnd?(call: number): void;
};

type Unary = { resolve(answer: Incoming): void; reject(error: unknown): void };

const endedKept = 1_024;
const highestCall = 0xffff_ffff;

/** Calls in both directions over one socket. Ours have odd numbers. */
export class PythonChannel {
  readonly #options: PythonChannelOptions;
  readonly #writer: FrameWriter;
  readonly #waiting = new Map<number, Unary>();
  readonly #streams = new Map<number, CallStream>();
  /** Numbers of calls that are over: what was on its way when they ended still comes. */
  readonly #ended = new Set<number>();
  #lastCall = -1;
  #closed: { error: unknown } | undefined;

  constructor(options: PythonChannelOptions) {
    this.#options = options;
    const { socket } = options;
    this.#writer = new FrameWriter(socket);
    const decoder = new FrameDecoder((message) => this.#receive(message));
    socket.on("data", (chunk: Buffer) => {
      if (this.#closed) return;
      try {
        decoder.push(chunk);
      } catch (error) {
        options.onProtocolError(
          error instanceof ProtocolError ? error : new ProtocolError(errorMessage(error)),
        );
      }
    });
  }

  /** Calls of ours that are not answered. */
  get underWay(): number {
    const streams = [...this.#streams.keys()].filter(isOurs);
    return this.#waiting.size + streams.length;
  }

  /** Waits while too much is unsent. */
  room(): Promise<void> {
    return this.#writer.room();
  }

  call(method: string, meta: Meta = {}, segments: readonly Segment[] = []): Promise<Incoming> {
    if (this.#closed) return Promise.reject(this.#closed.error);
    const call = this.#number();
    return new Promise<Incoming>((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject });
      this.#sendCall(call, method, meta, segments);
    });
  }

  open(method: string, meta: Meta = {}, segments: readonly Segment[] = []): CallStream {
    const stream = new CallStream(this.#number(), {
      send: (message) => this.#send(message),
      room: () => this.#writer.room(),
    });
    if (this.#closed) stream.failed(this.#closed.error);
    else {
      this.#streams.set(stream.call, stream);
      this.#sendCall(stream.call, method, meta, segments);
    }
    return stream;
  }

  /** The call is over on this side; later frames are ignored. */
  forget(stream: CallStream): void {
    if (!this.#streams.delete(stream.call)) return;
    this.#noteEnd(stream.call);
    stream.finished();
    this.#options.onEnd?.(stream.call);
  }

  /** Fails all open calls. */
  close(error: unknown): void {
    if (this.#closed) return;
    this.#closed = { error };
    this.#writer.close();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    for (const stream of [...this.#streams.values()]) {
      this.forget(stream);
      stream.failed(error);
    }
  }

  #sendCall(call: number, method: string, meta: Meta, segments: readonly Segment[]): void {
    this.#send({
      kind: frameKinds.call,
      call,
      segments: [JSON.stringify({ method, ...meta }), ...segments],
    });
  }

  #send(message: Message): void {
    if (!this.#closed) this.#writer.send(message);
  }

  #number(): number {
    do this.#lastCall = this.#lastCall + 2 > highestCall ? 1 : this.#lastCall + 2;
    while (this.#waiting.has(this.#lastCall) || this.#streams.has(this.#lastCall));
    this.#ended.delete(this.#lastCall);
    return this.#lastCall;
  }

  #noteEnd(call: number): void {
    this.#ended.add(call);
    if (this.#ended.size <= endedKept) return;
    const [oldest] = this.#ended;
    this.#ended.delete(oldest!);
  }

  #receive(message: ReceivedMessage): void {
    const { kind, call } = message;
    const incoming = read(message);
    if (kind === frameKinds.call) {
      this.#answer(call, incoming);
      return;
    }
    const waiting = this.#waiting.get(call);
    const stream = this.#streams.get(call);
    if (waiting) {
      this.#waiting.delete(call);
      this.#noteEnd(call);
      if (kind === frameKinds.error) waiting.reject(toRemoteError(incoming.meta));
      else if (kind === frameKinds.reply) waiting.resolve(incoming);
      else throw new ProtocolError(`Call ${call} was answered with a frame of kind ${kind}.`);
    } else if (stream) this.#toStream(stream, kind, incoming);
    else if (!this.#ended.has(call)) throw new ProtocolError(`There is no call ${call}.`);
  }

  #toStream(stream: CallStream, kind: number, incoming: Incoming): void {
    switch (kind) {
      case frameKinds.item:
        stream.arrived(incoming);
        return;
      case frameKinds.credit:
        stream.credited(incoming.meta);
        return;
      case frameKinds.cancel:
        stream.cancelled();
        return;
      case frameKinds.end:
        // The caller's end only completes what it sends; the answer's end is the end of the call.
        if (isOurs(stream.call)) this.forget(stream);
        stream.ended();
        return;
      case frameKinds.reply:
        this.forget(stream);
        stream.arrived(incoming);
        stream.ended();
        return;
      default:
        this.forget(stream);
        stream.failed(toRemoteError(incoming.meta));
    }
  }

  #answer(call: number, request: Incoming): void {
    const method = String(request.meta.method);
    const { unary, streaming, noted } = this.#options.handlers;
    if (call === 0) {
      noted[method]?.(request);
      return;
    }
    const answer = unary[method];
    const stream = streaming[method];
    if (answer) void this.#answerOnce(call, answer(request));
    else if (stream) void this.#answerStream(call, (each) => stream(request, each));
    else this.#sendError(call, new Error(`The server has no method "${method}".`));
  }

  async #answerOnce(call: number, work: Promise<Answer>): Promise<void> {
    try {
      const { meta = {}, segments = [] } = await work;
      this.#send({ kind: frameKinds.reply, call, segments: [JSON.stringify(meta), ...segments] });
    } catch (error) {
      this.#sendError(call, error);
    }
    this.#noteEnd(call);
  }

  async #answerStream(call: number, work: (stream: CallStream) => Promise<void>): Promise<void> {
    const stream = new CallStream(call, {
      send: (message) => this.#send(message),
      room: () => this.#writer.room(),
    });
    this.#streams.set(call, stream);
    try {
      await work(stream);
      stream.end();
    } catch (error) {
      this.#sendError(call, error);
    }
    this.forget(stream);
  }

  #sendError(call: number, error: unknown): void {
    this.#send({ kind: frameKinds.error, call, segments: [JSON.stringify(describe(error))] });
  }
}

function isOurs(call: number): boolean {
  return call % 2 === 1;
}

function read({ segments }: ReceivedMessage): Incoming {
  const [first, ...rest] = segments;
  if (first === undefined || first.length === 0) return { meta: {}, segments: rest };
  const meta: unknown = JSON.parse(first.toString());
  if (typeof meta !== "object" || meta === null || Array.isArray(meta))
    throw new ProtocolError("A message does not start with a JSON object.");
  return { meta: meta as Meta, segments: rest };
}

function describe(error: unknown): Meta {
  const type = error instanceof Error ? error.name : "Error";
  const code = error instanceof AppError ? { code: error.code } : {};
  return { type, message: errorMessage(error), ...code };
}
