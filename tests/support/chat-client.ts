import type { ThreadState, ThreadSummary } from "../../src/chat-app/thread-state.ts";
import { type ChatServerOptions, createChatServer } from "./chat-server.ts";

export type Answer = {
  type: string;
  id: number | null;
  error?: string;
  message?: string;
  result?: { run_id?: string };
};

/** The chat application with what a client does at hand, in process. */
export async function createChatClient(options: ChatServerOptions = {}) {
  const server = await createChatServer(options);
  const call = async <Body>(method: string, path: string, body?: unknown, key?: string) => {
    const response = await server.fetch(path, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key ? { "x-api-key": key } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as Body };
  };
  const command = async (thread: string, method: string, params: unknown = {}) =>
    (await call<Answer>("POST", `/api/threads/${thread}/commands`, { id: 7, method, params })).body;
  const say = (thread: string, content: string, more: object = {}) =>
    command(thread, "run.start", {
      assistant_id: "agent",
      input: { messages: [{ role: "user", content }] },
      ...more,
    });
  const state = async (thread: string) =>
    (await call<ThreadState>("GET", `/api/threads/${thread}/state`)).body;
  const list = async () => (await call<ThreadSummary[]>("GET", "/api/threads")).body;
  const history = async (thread: string, page: object = { limit: 100 }) =>
    (await call<ThreadState[]>("POST", `/api/threads/${thread}/history`, page)).body;

  /** Reads the thread's stream until an event fits. */
  const until = async (thread: string, fits: (event: StreamEvent) => boolean, body: object = {}) => {
    const response = await server.fetch(`/api/threads/${thread}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ channels, ...body }),
    });
    const events: StreamEvent[] = [];
    let rest = "";
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return events;
      rest += value;
      const frames = rest.split("\n\n");
      rest = frames.pop()!;
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (!data) continue;
        events.push(JSON.parse(data) as StreamEvent);
        if (!fits(events.at(-1)!)) continue;
        await reader.cancel();
        return events;
      }
    }
  };
  const ended = (thread: string, runs = 1) => {
    let seen = 0;
    return until(thread, (event) => isEnd(event) && ++seen === runs);
  };
  return { server, stop: () => server.chat.stop(), call, command, say, state, list, history, until, ended };
}

export type StreamEvent = {
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; data: Record<string, unknown> };
};
const channels = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
];
export const isEnd = ({ method, params }: StreamEvent) =>
  method === "lifecycle" && params.namespace.length === 0 && params.data.event !== "running";
export const texts = ({ values }: ThreadState) =>
  (values.messages as { type: string; content: string | { text?: string }[] }[]).map(({ type, content }) =>
    typeof content === "string"
      ? `${type}: ${content}`
      : `${type}: ${content.map((part) => part.text ?? "").join("")}`,
  );
