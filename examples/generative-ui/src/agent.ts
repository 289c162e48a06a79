import { AIMessage } from "@langchain/core/messages";
import {
  Annotation,
  END,
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import {
  type RemoveUIMessage,
  typedUi,
  type UIMessage,
  uiMessageReducer,
} from "@langchain/langgraph-sdk/react-ui/server";
import type components from "./ui.tsx";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  ui: Annotation<UIMessage[], UIMessage | RemoveUIMessage | (UIMessage | RemoveUIMessage)[]>({
    reducer: uiMessageReducer,
    default: () => [],
  }),
});

/** Made up from the name, so that the example needs no key and always says the same. */
function degreesIn(city: string): number {
  return [...city].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 30;
}

export const graph = new StateGraph(State)
  .addNode("look", async ({ messages }: typeof State.State, config: LangGraphRunnableConfig) => {
    const city = messages.at(-1)?.text.trim() || "Oslo";
    const message = new AIMessage({ id: crypto.randomUUID(), content: `This is the weather in ${city}.` });
    // Streamed at once as a custom event, and kept under "ui" in the state; shown beside the message.
    typedUi<typeof components>(config).push(
      { name: "weather", props: { city, degrees: degreesIn(city) } },
      { message },
    );
    return { messages: [message] };
  })
  .addEdge(START, "look")
  .addEdge("look", END)
  .compile();
