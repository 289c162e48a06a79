import { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

/** One node that answers with its input: the least a graph can do. */
export function createEchoGraph() {
  return new StateGraph(MessagesAnnotation)
    .addNode("echo", ({ messages }) => ({
      messages: [new AIMessage({ content: messages.at(-1)?.content ?? "" })],
    }))
    .addEdge(START, "echo")
    .addEdge("echo", END)
    .compile({ name: "echo" });
}
