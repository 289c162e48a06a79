import { AIMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  count: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
});

export const graph = new StateGraph(State)
  .addNode("turn", ({ count }: typeof State.State) => {
    const next = count + 1;
    return { count: next, messages: [new AIMessage(`Turn ${next}.`)] };
  })
  .addEdge(START, "turn")
  .addEdge("turn", END)
  .compile();
