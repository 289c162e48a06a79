import { AIMessage } from "@langchain/core/messages";
import { END, START, StateGraph } from "@langchain/langgraph";
import { State } from "./state.ts";

async function collect({ messages }: typeof State.State) {
  const topic = messages.at(-1)?.text ?? "nothing";
  const notes = [
    `${topic} has ${topic.length} letters.`,
    `${topic} backwards is ${[...topic].reverse().join("")}.`,
  ];
  return { notes, messages: [new AIMessage(`I have ${notes.length} notes on ${topic}.`)] };
}

export const graph = new StateGraph(State)
  .addNode("collect", collect)
  .addEdge(START, "collect")
  .addEdge("collect", END)
  .compile();
