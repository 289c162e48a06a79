import { useStream } from "@langchain/langgraph-sdk/react";
import {
  isRemoveUIMessage,
  isUIMessage,
  LoadExternalComponent,
  type RemoveUIMessage,
  type UIMessage,
  uiMessageReducer,
} from "@langchain/langgraph-sdk/react-ui";
import { useState } from "react";
import { createRoot } from "react-dom/client";

/** The components take any stream, so the state has no narrower type. */
type State = Record<string, unknown>;

/** Told by the address: which server, which assistant, which key. */
const address = new URL(location.href).searchParams;

const uiOf = ({ ui }: State) => (ui ?? []) as UIMessage[];

/** A chat as people build it: messages of the thread, and beside them the components that the graph pushes. */
function Chat() {
  const [threadId, setThreadId] = useState(address.get("thread"));
  const [pushed, setPushed] = useState<string[]>([]);
  const stream = useStream<State, { CustomEventType: UIMessage | RemoveUIMessage }>({
    apiUrl: address.get("api")!,
    apiKey: address.get("key") ?? undefined,
    assistantId: address.get("assistant")!,
    threadId,
    onThreadId: setThreadId,
    onCustomEvent: (event, { mutate }) => {
      if (!isUIMessage(event) && !isRemoveUIMessage(event)) return;
      if (isUIMessage(event)) setPushed((before) => [...before, event.name]);
      mutate((before) => ({ ...before, ui: uiMessageReducer(uiOf(before), event) }));
    },
  });
  return (
    <>
      <button type="button" onClick={() => stream.submit({ messages: [{ type: "human", content: "Oslo" }] })}>
        Ask
      </button>
      {uiOf(stream.values).map((message) => (
        <LoadExternalComponent key={message.id} stream={stream} message={message} fallback={<i>loading</i>} />
      ))}
      <output>
        {JSON.stringify({
          isLoading: stream.isLoading,
          error: stream.error === undefined ? null : String(stream.error),
          pushed,
          kept: uiOf(stream.values).length,
        })}
      </output>
    </>
  );
}

createRoot(document.getElementById("app")!).render(<Chat />);
