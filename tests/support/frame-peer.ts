import type { Duplex } from "node:stream";
import {
  frameKinds,
  type Message,
  type ReceivedMessage,
} from "../../src/agent-server/graphs/python/frame.ts";
import { FrameDecoder } from "../../src/agent-server/graphs/python/frame-decoder.ts";
import { OutgoingMessage } from "../../src/agent-server/graphs/python/frame-encoder.ts";

export type PeerMessage = {
  kind: Message["kind"];
  call: number;
  meta: Record<string, unknown>;
  texts: string[];
};

/** The end of a socket where Python is, frame by frame. Its own calls have even numbers. */
export class FramePeer {
  readonly #socket: Duplex;
  readonly #listeners = new Map<number, (message: PeerMessage) => void>();
  #lastCall = 0;

  constructor(socket: Duplex, onCall: (message: PeerMessage) => void = () => undefined) {
    this.#socket = socket;
    const decoder = new FrameDecoder((received) => {
      const message = read(received);
      const listener = this.#listeners.get(message.call);
      if (listener) listener(message);
      else onCall(message);
    });
    socket.on("data", (chunk: Buffer) => decoder.push(chunk));
  }

  send(kind: Message["kind"], call: number, meta: object = {}, texts: readonly string[] = []): void {
    const message = new OutgoingMessage({ kind, call, segments: [JSON.stringify(meta), ...texts] });
    while (!message.isDone) this.#socket.write(message.next());
  }

  /** Rejects with what the other side failed with. */
  async call(method: string, meta: object = {}, texts: readonly string[] = []): Promise<PeerMessage> {
    const [answer] = await this.#ask(method, meta, texts, () => undefined);
    return answer!;
  }

  /** Everything the other side sends until its end. `body`: what is sent along, piece by piece. */
  stream(method: string, meta: object = {}, body: readonly string[] = []): Promise<PeerMessage[]> {
    return this.#ask(method, meta, [], (call) => {
      for (const text of body) this.send(frameKinds.item, call, {}, [text]);
      this.send(frameKinds.end, call);
    });
  }

  #ask(
    method: string,
    meta: object,
    texts: readonly string[],
    more: (call: number) => void,
  ): Promise<PeerMessage[]> {
    this.#lastCall += 2;
    const call = this.#lastCall;
    const messages: PeerMessage[] = [];
    return new Promise((resolve, reject) => {
      this.#listeners.set(call, (message) => {
        if (message.kind === frameKinds.credit) return;
        if (message.kind === frameKinds.error) reject(Object.assign(new Error(), message.meta));
        else if (message.kind === frameKinds.end) resolve(messages);
        else messages.push(message);
        if (message.kind === frameKinds.reply) resolve(messages);
      });
      this.send(frameKinds.call, call, { method, ...meta }, texts);
      more(call);
    });
  }
}

function read({ kind, call, segments: [first, ...rest] }: ReceivedMessage): PeerMessage {
  const meta = JSON.parse(first?.toString() || "{}") as Record<string, unknown>;
  return { kind, call, meta, texts: rest.map((segment) => segment.toString()) };
}
