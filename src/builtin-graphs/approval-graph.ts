import { AIMessage } from "@langchain/core/messages";
import { END, interrupt, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { approvalRequest, readDecision } from "./approval-decision.ts";

const state = new StateSchema({
  messages: MessagesValue,
  action: z.string().optional().describe("What approval was asked for."),
  approved: z.boolean().optional(),
  note: z.string().optional().describe("What the person said with the decision."),
});

/** Proposes, stops until a person decides, then acts on the decision. */
export function createApprovalGraph() {
  return new StateGraph(state)
    .addNode("propose", ({ messages }) => {
      const action = messages.at(-1)?.text.trim() || "nothing in particular";
      return { action, approved: undefined, note: undefined };
    })
    .addNode("approve", ({ action = "" }) => {
      const answer: unknown = interrupt(approvalRequest("act", { action }, `May I do this: ${action}?`));
      const { approved, note, editedArgs } = readDecision(answer);
      return {
        approved,
        note,
        ...(typeof editedArgs?.action === "string" ? { action: editedArgs.action } : {}),
      };
    })
    .addNode("act", ({ action, approved, note }) => {
      const because = note ? ` (${note})` : "";
      const text = approved
        ? `Done, with your approval: ${action}${because}.`
        : `Not done: ${action} was rejected${because}.`;
      return { messages: [new AIMessage(text)] };
    })
    .addEdge(START, "propose")
    .addEdge("propose", "approve")
    .addEdge("approve", "act")
    .addEdge("act", END)
    .compile({ name: "approval" });
}
