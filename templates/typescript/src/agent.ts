import type { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { answer } from "./model.ts";
import { tools } from "./tools.ts";

type State = typeof MessagesAnnotation.State;

function next({ messages }: State): "tools" | typeof END {
  const last = messages.at(-1) as AIMessage;
  return last.tool_calls?.length ? "tools" : END;
}

/** Answer, or use a tool and look at its result, and again. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", async ({ messages }: State) => ({ messages: [await answer(messages)] }))
  .addNode("tools", new ToolNode(tools))
  .addEdge(START, "agent")
  .addConditionalEdges("agent", next, ["tools", END])
  .addEdge("tools", "agent")
  .compile();
