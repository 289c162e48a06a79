import { WebSocket } from "ws";
import type { Answer } from "./protocol-client.ts";
import { protocolEvent, type WireEvent } from "./protocol-events.ts";

export type Received = { kind: "answer"; answer: Answer } | { kind: "event"; event: WireEvent };

export type TestSocket = {
  socket: WebSocket;
  /** Everything the server sent, in order. */
  received: Received[];
  events(): WireEvent[];
  send(value: unknown): void;
  /** Sends a command and waits for its answer. */
  ask(method: string, params?: unknown): Promise<Answer>;
  until(enough: (received: Received[]) => boolean): Promise<void>;
  closed: Promise<number>;
  close(): Promise<void>;
};

export async function openSocket(url: string, path: string): Promise<TestSocket> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`);
  const received: Received[] = [];
  const watchers = new Set<() => void>();
  // Apart from the ids that tests choose themselves.
  let nextId = 1_000;
  socket.on("message", (data) => {
    const value = JSON.parse(String(data)) as { type: string };
    received.push(
      value.type === "event"
        ? { kind: "event", event: protocolEvent.parse(value) }
        : { kind: "answer", answer: value as Answer },
    );
    for (const watcher of watchers) watcher();
  });
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  const until: TestSocket["until"] = (enough) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        watchers.delete(watch);
        reject(new Error(`Not within 20 s; received ${JSON.stringify(received).slice(-2_000)}`));
      }, 20_000);
      const watch = () => {
        if (!enough(received)) return;
        clearTimeout(timer);
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
      watch();
    });
  const answerTo = (id: number) =>
    received.flatMap((item) => (item.kind === "answer" && item.answer.id === id ? [item.answer] : []))[0];
  return {
    socket,
    received,
    events: () => received.flatMap((item) => (item.kind === "event" ? [item.event] : [])),
    send: (value) => socket.send(typeof value === "string" ? value : JSON.stringify(value)),
    async ask(method, params) {
      const id = nextId++;
      socket.send(JSON.stringify({ id, method, params }));
      await until(() => answerTo(id) !== undefined);
      return answerTo(id)!;
    },
    until,
    closed,
    async close() {
      socket.close();
      await closed;
    },
  };
}
