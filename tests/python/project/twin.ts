import { AIMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

/** The same as src/echo.py. */
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  count: Annotation<number>({ reducer: (left, right) => left + right, default: () => 0 }),
});

export const graph = new StateGraph(State)
  .addNode("echo", (state) => ({
    messages: [new AIMessage(`You said: ${state.messages.at(-1)?.text}`)],
    count: 1,
  }))
  .addEdge(START, "echo")
  .addEdge("echo", END)
  .compile();
