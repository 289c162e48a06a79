import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { AppError } from "../../../platform/errors.ts";
import { frameKinds, type Message, type ReceivedMessage } from "./frame.ts";
import { FrameDecoder } from "./frame-decoder.ts";
import { OutgoingMessage } from "./frame-encoder.ts";
import { type CallHandlers, PythonChannel } from "./python-channel.ts";

/** The other end, frame by frame. */
class OtherEnd {
  readonly received: ReceivedMessage[] = [];
  readonly #socket: Duplex;

  constructor(socket: Duplex) {
    this.#socket = socket;
    const decoder = new FrameDecoder((message) => this.received.push(message));
    socket.on("data", (chunk: Buffer) => decoder.push(chunk));
  }

  send(kind: Message["kind"], call: number, meta: object, ...segments: string[]): void {
    const message = new OutgoingMessage({ kind, call, segments: [JSON.stringify(meta), ...segments] });
    while (!message.isDone) this.#socket.write(message.next());
  }

  async until(count: number): Promise<ReceivedMessage[]> {
    while (this.received.length < count) await nextTurn();
    return this.received;
  }
}

function connect(handlers: Partial<CallHandlers> = {}) {
  const [near, far] = duplexPair();
  const faults: string[] = [];
  const channel = new PythonChannel({
    socket: near,
    handlers: { unary: {}, streaming: {}, noted: {}, ...handlers },
    onProtocolError: (error) => faults.push(error.message),
  });
  return { channel, other: new OtherEnd(far), faults };
}

const meta = (message: ReceivedMessage) => JSON.parse(message.segments[0]!.toString()) as unknown;

describe("a call", () => {
  it("is answered, or fails under the name of the exception", async () => {
    const { channel, other } = connect();
    const good = channel.call("load", { a: 1 }, ["text"]);
    const bad = channel.call("load");
    const [first] = await other.until(2);
    expect([first!.kind, first!.call, meta(first!), first!.segments[1]!.toString()]).toEqual([
      frameKinds.call,
      1,
      { method: "load", a: 1 },
      "text",
    ]);
    other.send(frameKinds.error, 3, { type: "ValueError", message: "no", status: 401 });
    other.send(frameKinds.reply, 1, { ok: true }, "more");
    expect((await good).meta).toEqual({ ok: true });
    await expect(bad).rejects.toMatchObject({ name: "ValueError", message: "no", status: 401 });
    expect(channel.underWay).toBe(0);
  });

  it("fails when the other side is gone, and so does every later one", async () => {
    const { channel } = connect();
    const call = channel.call("load");
    const stream = channel.open("run");
    channel.close(new Error("gone"));
    await expect(call).rejects.toThrow("gone");
    await expect(channel.call("load")).rejects.toThrow("gone");
    await expect(stream.items().next()).rejects.toThrow("gone");
  });
});

describe("a stream", () => {
  it("grants more as its items are taken, and only then", async () => {
    const { channel, other } = connect();
    const stream = channel.open("run");
    for (let n = 0; n < 512; n += 1) other.send(frameKinds.item, 1, { n });
    await nextTurn();
    expect(other.received.filter(({ kind }) => kind === frameKinds.credit)).toEqual([]);
    const items = stream.items();
    for (let n = 0; n < 512; n += 1) expect((await items.next()).value?.meta).toEqual({ n });
    const received = await other.until(3);
    expect(received.slice(1).map(meta)).toEqual([
      { items: 256, bytes: 0 },
      { items: 256, bytes: 0 },
    ]);
    other.send(frameKinds.item, 1, { n: "last" });
    other.send(frameKinds.end, 1, {});
    expect((await items.next()).value?.meta).toEqual({ n: "last" });
    expect((await items.next()).done).toBe(true);
  });

  it("waits for credit of the other side when it sends", async () => {
    let sent = 0;
    const { other } = connect({
      streaming: {
        list: async (_request, stream) => {
          for (let n = 0; n < 600; n += 1) {
            await stream.send({ n }, ["x"]);
            sent += 1;
          }
        },
      },
    });
    other.send(frameKinds.call, 2, { method: "list" });
    await other.until(512);
    await nextTurn();
    expect(sent).toBe(512);
    other.send(frameKinds.credit, 2, { items: 100, bytes: 100 });
    const received = await other.until(601);
    expect(received.at(-1)!.kind).toBe(frameKinds.end);
  });

  it("stops sending when nobody wants it", async () => {
    let wanted = true;
    const { other } = connect({
      streaming: {
        list: async (_request, stream) => {
          while (wanted) wanted = await stream.send({}, ["x"]);
        },
      },
    });
    other.send(frameKinds.call, 2, { method: "list" });
    await other.until(512);
    other.send(frameKinds.cancel, 2, {});
    const received = await other.until(513);
    expect(received.at(-1)!.kind).toBe(frameKinds.end);
  });
});

describe("a call of the other side", () => {
  it("is answered, with the code of what went wrong", async () => {
    const { other } = connect({
      unary: {
        good: async ({ meta: { n } }) => ({ meta: { n }, segments: ["text"] }),
        bad: async () => {
          throw new AppError({ code: "run.lease_lost", kind: "conflict", message: "taken over" });
        },
      },
    });
    other.send(frameKinds.call, 2, { method: "good", n: 1 });
    other.send(frameKinds.call, 4, { method: "bad" });
    other.send(frameKinds.call, 6, { method: "none" });
    await other.until(3);
    const answers = new Map(other.received.map((message) => [message.call, meta(message)]));
    expect(answers.get(2)).toEqual({ n: 1 });
    expect(answers.get(4)).toEqual({ type: "AppError", message: "taken over", code: "run.lease_lost" });
    expect(answers.get(6)).toMatchObject({ message: 'The server has no method "none".' });
  });
});

describe("what belongs to no call", () => {
  it("is a fault, unless the call has just ended", async () => {
    const { channel, other, faults } = connect();
    const stream = channel.open("run");
    channel.forget(stream);
    other.send(frameKinds.item, 1, {});
    other.send(frameKinds.end, 1, {});
    await nextTurn();
    expect(faults).toEqual([]);
    other.send(frameKinds.item, 99, {});
    await nextTurn();
    expect(faults).toEqual(["There is no call 99."]);
  });
});
