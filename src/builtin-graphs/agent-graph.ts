import { HumanMessage } from "@langchain/core/messages";
import { z } from "zod";
import { createAccountTool } from "./account-tool.ts";
import { type Clock, createAgentTools, searchNotesTool } from "./agent-tools.ts";
import { answeringTool } from "./answering-tool.ts";
import type { AnyGraph } from "./any-graph.ts";
import type { ChatModels } from "./chat-models.ts";
import type { ConnectedAccounts } from "./connected-accounts.ts";
import { createToolLoop } from "./tool-loop.ts";

/** An agent with tools, one of which hands a task to a subagent. */
export function createAgentGraph(models: ChatModels, now: Clock, accounts?: ConnectedAccounts) {
  const researcher = createToolLoop({
    name: "researcher",
    modelNode: "researcher",
    voice: "researcher",
    systemPrompt: "You research one topic with the tools you have and hand back a short summary in Markdown.",
    tools: [searchNotesTool],
    models,
  });

  const task = answeringTool(
    async ({ description }, config) => {
      const { callbacks, configurable, signal, tags, recursionLimit, metadata } = config;
      const result = await researcher.invoke(
        { messages: [new HumanMessage(description)] },
        {
          callbacks,
          configurable,
          signal,
          tags,
          recursionLimit,
          metadata: { ...metadata, lc_agent_name: "researcher" },
        },
      );
      return result.messages.at(-1)?.text ?? "";
    },
    {
      name: "task",
      description: "Hands a task to a subagent and returns its summary. The researcher looks into one topic.",
      schema: z.object({
        description: z.string().describe("What to find out."),
        subagent_type: z.enum(["researcher"]),
      }),
    },
  );

  return createToolLoop({
    name: "agent",
    modelNode: "agent",
    voice: "agent",
    systemPrompt: "You are a helpful assistant. Use the tools when they help, and answer in Markdown.",
    tools: [...createAgentTools(now), task, ...(accounts ? [createAccountTool(accounts)] : [])],
    subgraphs: [researcher as unknown as AnyGraph],
    models,
  });
}
