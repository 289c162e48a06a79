import type { JsonSchema } from "../graphs/graph-description.ts";

export type NamedAssistant = {
  assistant_id: string;
  graph_id: string;
  name: string;
  description: string | null;
};

/** A tool as `tools/list` shows it. */
export type McpTool = { name: string; title: string; description: string; inputSchema: JsonSchema };

/** Model providers take no longer names, and no other characters. */
const maxName = 64;
const suffixLength = 8;

/**
 * A tool name for every assistant, the same at every request: a default assistant has its graph's name, another one its
 * own. An assistant whose name is taken already gets the end of its id appended. The assistants come oldest first.
 */
export function nameTools<Each extends NamedAssistant>(
  assistants: readonly Each[],
  isDefault: (assistant: Each) => boolean,
): Map<string, Each> {
  const tools = new Map<string, Each>();
  const add = (assistant: Each, wanted: string) => {
    const name = toToolName(wanted);
    const suffix = `_${assistant.assistant_id.slice(-suffixLength)}`;
    tools.set(tools.has(name) ? `${name.slice(0, maxName - suffix.length)}${suffix}` : name, assistant);
  };
  for (const each of assistants) if (isDefault(each)) add(each, each.graph_id);
  for (const each of assistants) if (!isDefault(each)) add(each, each.name);
  return tools;
}

function toToolName(text: string): string {
  const name = text
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, maxName);
  return name === "" ? "assistant" : name;
}

/** Clients demand an object at the top. */
export function toInputSchema(schema: JsonSchema | null): JsonSchema {
  return schema?.type === "object" ? schema : { type: "object" };
}

export type ToolResult = {
  content: { type: "text"; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError: boolean;
};

/** What a run left behind, as the answer of a tool. */
export function toToolResult(toolName: string, resultJson: string): ToolResult {
  const result: unknown = JSON.parse(resultJson);
  const values = isRecord(result) ? result : { result };
  const { __error__: error, __interrupt__: interrupts, ...rest } = values;
  if (isRecord(error)) return failed(`${error.error}: ${error.message}`);
  if (interrupts !== undefined) {
    return failed(
      `${toolName} was interrupted: ${JSON.stringify(interrupts)}. A tool call cannot answer an interrupt; run the assistant on a thread instead.`,
    );
  }
  return {
    content: [{ type: "text", text: JSON.stringify(rest) }],
    structuredContent: rest,
    isError: false,
  };
}

function failed(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
