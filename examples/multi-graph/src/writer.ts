import { AIMessage } from "@langchain/core/messages";
import { END, START, StateGraph } from "@langchain/langgraph";
import { State } from "./state.ts";

async function write({ notes }: typeof State.State) {
  const text = notes.length === 0 ? "There is nothing to write about yet." : notes.join(" ");
  return { messages: [new AIMessage(text)] };
}

export const graph = new StateGraph(State)
  .addNode("write", write)
  .addEdge(START, "write")
  .addEdge("write", END)
  .compile();
