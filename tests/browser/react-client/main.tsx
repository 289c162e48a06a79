import { useMessageMetadata, useMessages, useStream, useSubmissionQueue } from "@langchain/react";
import { StrictMode, useCallback, useState } from "react";
import { createRoot } from "react-dom/client";
import type { Shown } from "./shown.ts";

type State = { messages?: unknown[]; [key: string]: unknown };
type Stream = ReturnType<typeof useStream<State>>;

/** What a reload keeps: everything about the page is in its address. */
const address = () => new URL(location.href).searchParams;

function keep(name: string, value: string) {
  const url = new URL(location.href);
  url.searchParams.set(name, value);
  history.replaceState(null, "", url);
}

function App() {
  const [threadId, setThreadId] = useState(address().get("thread"));
  const [assistantId, setAssistantId] = useState(address().get("assistant") ?? "agent");
  const [ended, setEnded] = useState<string[]>([]);
  const stream = useStream<State>({
    apiUrl: address().get("api")!,
    transport: address().get("transport") === "websocket" ? "websocket" : "sse",
    assistantId,
    threadId,
    onThreadId: useCallback((id: string) => {
      keep("thread", id);
      setThreadId(id);
    }, []),
    onCompleted: useCallback(
      ({ reason }: { reason: string }) => setEnded((before) => [...before, reason]),
      [],
    ),
  });
  const choose = (id: string) => {
    keep("assistant", id);
    setAssistantId(id);
  };
  return (
    <>
      <label>
        Assistant <input value={assistantId} onChange={(event) => choose(event.target.value)} />
      </label>
      <Controls stream={stream} ended={ended} />
    </>
  );
}

function Controls({ stream, ended }: { stream: Stream; ended: string[] }) {
  const [input, setInput] = useState("{}");
  const [options, setOptions] = useState("{}");
  const [refusals, setRefusals] = useState<string[]>([]);
  const queue = useSubmissionQueue(stream);
  const doing = (work: () => Promise<void>) => () => {
    work().catch((error: unknown) => setRefusals((before) => [...before, String(error)]));
  };
  const { messages: _messages, ...values } = stream.values;
  const respondAll = () =>
    stream.respondAll(Object.fromEntries(stream.interrupts.map(({ id }) => [id!, JSON.parse(input)])));
  const shown: Shown = {
    threadId: stream.threadId,
    assistantId: stream.assistantId,
    isLoading: stream.isLoading,
    isThreadLoading: stream.isThreadLoading,
    messages: stream.messages.map(({ type, text }) => `${type}: ${text}`),
    lastMessageId: stream.messages.at(-1)?.id ?? null,
    values,
    interrupts: stream.interrupts.map(({ value }) => value),
    toolCalls: stream.toolCalls.map(({ name, status }) => `${name}: ${status}`),
    subagents: [...stream.subagents.values()].map(({ name, status }) => `${name}: ${status}`),
    queued: queue.size,
    ended,
    error: stream.error === undefined ? null : String(stream.error),
    refusals,
  };
  return (
    <>
      <label>
        Input <textarea value={input} onChange={(event) => setInput(event.target.value)} />
      </label>
      <label>
        Options <textarea value={options} onChange={(event) => setOptions(event.target.value)} />
      </label>
      <button type="button" onClick={doing(() => stream.submit(JSON.parse(input), JSON.parse(options)))}>
        Submit
      </button>
      <button type="button" onClick={doing(() => stream.respond(JSON.parse(input), JSON.parse(options)))}>
        Respond
      </button>
      <button type="button" onClick={doing(respondAll)}>
        Respond to all
      </button>
      <button type="button" onClick={doing(() => stream.stop())}>
        Stop
      </button>
      <ol>
        {stream.messages.map((message, index) => (
          <li key={message.id ?? index}>
            <Again stream={stream} messageId={message.id} />
          </li>
        ))}
      </ol>
      <ul aria-label="Subagents">
        {[...stream.subagents.values()].map((subagent) => (
          <Subagent key={subagent.id} stream={stream} subagent={subagent} />
        ))}
      </ul>
      <output>{JSON.stringify(shown)}</output>
    </>
  );
}

/** Makes a message again: continues from the checkpoint before it, as the hook names it. */
function Again({ stream, messageId }: { stream: Stream; messageId?: string }) {
  const parent = useMessageMetadata(stream, messageId)?.parentCheckpointId;
  return (
    <button
      type="button"
      disabled={parent === undefined}
      onClick={() => void stream.submit(null, { forkFrom: parent })}
    >
      Again
    </button>
  );
}

/** Its own subscription, opened when the subagent appears. */
function Subagent({ stream, subagent }: { stream: Stream; subagent: { namespace: readonly string[] } }) {
  const messages = useMessages(stream, subagent);
  return <li>{messages.map(({ text }) => text).join("\n")}</li>;
}

createRoot(document.getElementById("app")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
