import { AIMessage, type BaseMessage, SystemMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { END, MessagesValue, Send, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import { AppError } from "../platform/errors.ts";
import type { AnyGraph } from "./any-graph.ts";
import type { ChatModels } from "./chat-models.ts";
import { contentOf, defaultTokenDelayMs, type OfflineModelOptions } from "./offline-model.ts";

/** What a run may set, under `context` or `configurable`. */
const agentSettings = z.object({
  model_name: z
    .string()
    .optional()
    .describe(
      "offline, a provider such as openai, or one of its models such as anthropic/claude-sonnet-4-5.",
    ),
  system_prompt: z.string().optional().describe("Instructions for a real model."),
  reasoning: z
    .enum(["auto", "always", "never"])
    .optional()
    .describe("When the offline model shows its reasoning."),
  token_delay_ms: z
    .number()
    .min(0)
    .max(1000)
    .optional()
    .describe("Pause between tokens of the offline model."),
});
type AgentSettings = z.infer<typeof agentSettings>;

const state = new StateSchema({ messages: MessagesValue });

export type ToolLoopOptions = {
  name: string;
  /** The node that asks the model. */
  modelNode: string;
  voice: NonNullable<OfflineModelOptions["voice"]>;
  systemPrompt: string;
  tools: StructuredToolInterface[];
  /** Graphs the tools call, so that their state can be read and drawn. */
  subgraphs?: AnyGraph[];
  models: ChatModels;
};

/** Model, tools, model again, until the model calls no more tools. */
export function createToolLoop({
  name,
  modelNode,
  voice,
  systemPrompt,
  tools,
  subgraphs,
  models,
}: ToolLoopOptions) {
  async function askModel({ messages }: { messages: BaseMessage[] }, config: RunnableConfig) {
    const settings = readSettings(config);
    const modelName = settings.model_name ?? "offline";
    const model = await models.open({
      modelName,
      configurable: config.configurable,
      voice,
      reasoning: settings.reasoning ?? "auto",
      tokenDelayMs: settings.token_delay_ms ?? defaultTokenDelayMs,
    });
    if (model.bindTools === undefined) throw new Error(`The model "${modelName}" cannot call tools.`);
    const prompt = new SystemMessage(settings.system_prompt ?? systemPrompt);
    const reply = await model.bindTools(tools).invoke([prompt, ...messages], config);
    return { messages: [modelName === "offline" ? settleOfflineMessage(reply) : reply] };
  }

  /** One task per call: parallel calls, and a namespace of its own for each, from which a subagent is recognised. */
  function route({ messages }: { messages: BaseMessage[] }) {
    const calls = (messages.at(-1) as AIMessage | undefined)?.tool_calls ?? [];
    if (calls.length === 0) return END;
    return calls.map((call) => new Send("tools", { messages, lg_tool_call: call, tool_call: call }));
  }

  return new StateGraph(state, agentSettings)
    .addNode(modelNode, askModel)
    .addNode("tools", new ToolNode(tools, { name: "tools" }), { subgraphs })
    .addEdge(START, modelNode)
    .addConditionalEdges(modelNode, route, ["tools", END])
    .addEdge("tools", modelNode)
    .compile({ name });
}

function readSettings(config: RunnableConfig & { context?: unknown }): AgentSettings {
  const given = { ...config.configurable, ...(config.context as object | undefined) } as AgentSettings;
  const parsed = agentSettings.safeParse({
    model_name: given.model_name,
    system_prompt: given.system_prompt,
    reasoning: given.reasoning,
    token_delay_ms: given.token_delay_ms,
  });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new AppError({
    code: "graph.settings_invalid",
    kind: "unprocessable",
    message: `The agent cannot use these settings of the run: ${problems.join("; ")}.`,
  });
}

/**
 * The same reply arrives as one message, as merged chunks or as assembled blocks, depending on who listens. State must
 * not depend on that.
 */
function settleOfflineMessage(reply: AIMessage): AIMessage {
  const blocks = typeof reply.content === "string" ? [] : reply.content;
  const reasoning = blocks
    .map((block) => (typeof block.reasoning === "string" ? block.reasoning : ""))
    .join("");
  const { model_name, finish_reason } = reply.response_metadata;
  const calls = reply.tool_calls ?? [];
  return new AIMessage({
    id: reply.id,
    content: contentOf(reasoning, reply.text),
    tool_calls: calls.map(({ id, name, args }) => ({ id, name, args, type: "tool_call" as const })),
    usage_metadata: reply.usage_metadata && {
      input_tokens: reply.usage_metadata.input_tokens,
      output_tokens: reply.usage_metadata.output_tokens,
      total_tokens: reply.usage_metadata.total_tokens,
    },
    response_metadata: {
      model_name,
      finish_reason: finish_reason === "tool_use" ? "tool_calls" : finish_reason,
    },
  });
}
