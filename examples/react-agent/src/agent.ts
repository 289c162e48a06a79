import type { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { decide } from "./offline-model.ts";
import { tools } from "./tools.ts";

type State = typeof MessagesAnnotation.State;

function next({ messages }: State): "tools" | typeof END {
  const last = messages.at(-1) as AIMessage | undefined;
  return last?.tool_calls?.length ? "tools" : END;
}

/** Reason, act, look at the result, and again. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", async ({ messages }: State) => ({ messages: [await decide(messages)] }))
  .addNode("tools", new ToolNode(tools))
  .addEdge(START, "agent")
  .addConditionalEdges("agent", next, ["tools", END])
  .addEdge("tools", "agent")
  .compile();
