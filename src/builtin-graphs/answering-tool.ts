import { ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import type { z } from "zod";

type ToolFields<Schema> = { name: string; description: string; schema: Schema };
export type ToolConfig = RunnableConfig & { toolCall?: { id?: string } };

/**
 * A tool whose message has an id made from its call's. Left to the library, the id would depend on which stream modes
 * happen to be on.
 */
export function answeringTool<Schema extends z.ZodObject>(
  answer: (args: z.output<Schema>, config: ToolConfig) => string | Promise<string>,
  fields: ToolFields<Schema>,
): StructuredToolInterface {
  return tool(async (args: unknown, config: ToolConfig) => {
    const content = await answer(args as z.output<Schema>, config);
    const callId = config.toolCall?.id;
    if (callId === undefined) return content;
    const { name } = fields;
    return new ToolMessage({ id: `tool_${callId}`, name, content, tool_call_id: callId, status: "success" });
  }, fields) as unknown as StructuredToolInterface;
}
