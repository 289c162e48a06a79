import { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { frameKinds, type Message, maxFrameBytes, ProtocolError, type ReceivedMessage } from "./frame.ts";
import { FrameDecoder } from "./frame-decoder.ts";
import { OutgoingMessage } from "./frame-encoder.ts";
import { FrameWriter } from "./frame-writer.ts";

function framesOf(message: Message): Buffer[] {
  const outgoing = new OutgoingMessage(message);
  const frames: Buffer[] = [];
  while (!outgoing.isDone) frames.push(outgoing.next());
  return frames;
}

function decoded(...chunks: Buffer[]): ReceivedMessage[] {
  const messages: ReceivedMessage[] = [];
  const decoder = new FrameDecoder((message) => messages.push(message));
  for (const chunk of chunks) decoder.push(chunk);
  return messages;
}

const plain = ({ kind, call, segments }: Message | ReceivedMessage) => ({
  kind,
  call,
  segments: segments.map((segment) => Buffer.from(segment as string).toString("latin1")),
});

const long: Message = { kind: frameKinds.item, call: 7, segments: ["{}", "é".repeat(300_000), "", "end"] };
const short: Message = { kind: frameKinds.reply, call: 9, segments: ['{"a":1}'] };

describe("a message in frames", () => {
  it("is laid out as agreed", () => {
    const [frame] = framesOf({ kind: frameKinds.call, call: 3, segments: ["{}", "ab"] });
    expect(frame!.toString("hex")).toBe(
      ["00000014", "01", "00", "0002", "00000003", "00000002", "00000002", "7b7d6162"].join(""),
    );
  });

  it.each([
    ["nothing", { kind: frameKinds.end, call: 1, segments: [] }],
    ["empty segments", { kind: frameKinds.item, call: 1, segments: ["", ""] }],
    ["bytes", { kind: frameKinds.item, call: 1, segments: ["{}", new Uint8Array([0, 255, 10])] }],
    ["more than a frame", long],
    ["exactly a frame", { kind: frameKinds.item, call: 1, segments: ["x".repeat(maxFrameBytes)] }],
    ["a byte more", { kind: frameKinds.item, call: 1, segments: ["x".repeat(maxFrameBytes + 1)] }],
  ] as [string, Message][])("comes back: %s", (_, message) => {
    expect(decoded(...framesOf(message)).map(plain)).toEqual([plain(message)]);
  });

  it("comes back byte by byte and all at once", () => {
    const bytes = Buffer.concat([...framesOf(short), ...framesOf(short)]);
    const singly = [...bytes].map((byte) => Buffer.from([byte]));
    expect(decoded(...singly).map(plain)).toEqual([plain(short), plain(short)]);
    expect(decoded(bytes)).toHaveLength(2);
  });

  it("comes back with frames of other calls between its own", () => {
    const [first, ...rest] = framesOf(long);
    expect(decoded(first!, ...framesOf(short), ...rest).map(plain)).toEqual([plain(short), plain(long)]);
  });
});

describe("what is no frame", () => {
  const header = (length: number, kind: number, segments: number) => {
    const frame = Buffer.alloc(12);
    frame.writeUInt32BE(length, 0);
    frame.writeUInt8(kind, 4);
    frame.writeUInt16BE(segments, 6);
    return frame;
  };

  it.each([
    ["too long", header(400_000, 1, 0)],
    ["too short", header(3, 1, 0)],
    ["of no kind", header(8, 8, 0)],
    ["shorter than its table", header(8, 1, 3)],
    ["a second beginning", Buffer.concat([framesOf(long)[0]!, framesOf(long)[0]!])],
    ["text", Buffer.from("Traceback (most recent call last):\n")],
  ])("is refused: %s", (_, bytes) => {
    expect(() => decoded(bytes)).toThrow(ProtocolError);
  });
});

/** Accepts written data only when the test lets it. */
class SlowSocket extends Writable {
  readonly writes: Buffer[] = [];
  #done: (() => void) | undefined;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.writes.push(chunk);
    this.#done = done;
  }

  take(): void {
    const done = this.#done;
    this.#done = undefined;
    done?.();
  }
}

describe("the writer", () => {
  it("joins what one turn sends into one write", async () => {
    const socket = new SlowSocket();
    const writer = new FrameWriter(socket);
    for (let call = 1; call < 200; call += 2) writer.send({ ...short, call });
    await nextTurn();
    expect(socket.writes).toHaveLength(1);
    expect(decoded(...socket.writes)).toHaveLength(100);
  });

  it("lets a short message pass a long one, and waits while too much is unsent", async () => {
    const socket = new SlowSocket();
    const writer = new FrameWriter(socket);
    writer.send({ kind: frameKinds.item, call: 1, segments: ["{}", Buffer.alloc(20_000_000)] });
    writer.send(short);
    let hasRoom = false;
    void writer.room().then(() => {
      hasRoom = true;
    });
    await nextTurn();
    expect(decoded(socket.writes[0]!).map(plain)).toEqual([plain(short)]);
    expect(hasRoom).toBe(false);
    expect(socket.writes[0]!.length).toBeLessThan(2_000_000);
    while (!hasRoom) {
      socket.take();
      await nextTurn();
    }
    writer.close();
    await expect(writer.room()).resolves.toBeUndefined();
  });
});

/** A small generator, so that a failure can be repeated by its seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("any messages, sent in any turns and cut anywhere", () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("arrive whole, in the order of their call: seed %i", async (seed) => {
    const random = randomOf(seed);
    const socket = new SlowSocket();
    const writer = new FrameWriter(socket);
    const sent: Message[] = [];
    for (let index = 0; index < 60; index += 1) {
      const call = 1 + random(5);
      const sizes = Array.from(
        { length: random(4) },
        () => [random(20), random(5_000), random(900_000)][random(3)]!,
      );
      const segments = sizes.map((size) => String.fromCodePoint(97 + random(26)).repeat(size));
      const message = { kind: frameKinds.item, call, segments: [`{"n":${index}}`, ...segments] };
      sent.push(message);
      writer.send(message);
      if (random(3) === 0) await nextTurn();
      if (random(2) === 0) socket.take();
    }
    const messages: ReceivedMessage[] = [];
    const decoder = new FrameDecoder((message) => messages.push(message));
    let read = 0;
    while (messages.length < sent.length) {
      await nextTurn();
      for (; read < socket.writes.length; read += 1) {
        let rest = socket.writes[read]!;
        while (rest.length > 0) {
          const size = Math.min(rest.length, 1 + random(200_000));
          decoder.push(rest.subarray(0, size));
          rest = rest.subarray(size);
        }
      }
      socket.take();
    }
    const byCall = (call: number, all: readonly (Message | ReceivedMessage)[]) =>
      all.filter((message) => message.call === call).map(plain);
    for (let call = 1; call <= 5; call += 1) expect(byCall(call, messages)).toEqual(byCall(call, sent));
  });
});
