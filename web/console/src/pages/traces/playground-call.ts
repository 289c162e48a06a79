import type { ChatMessage } from "../../ui/chat-message.ts";
import { messagesOf } from "./chat-messages.ts";
import type { FullRun } from "./trace.ts";

/** A message as people edit it: text, or JSON where it holds more. */
export type Draft = { key: number; role: Role; text: string; isJson: boolean; rest: Record<string, unknown> };
export type Role = (typeof roles)[number];
export const roles = ["system", "user", "assistant", "tool"] as const;

/** A call as the page's fields have it. */
export type CallDraft = { model: string; temperature: string; tools: string; messages: Draft[] };

const roleOf: Readonly<Record<string, Role>> = {
  human: "user",
  ai: "assistant",
  developer: "system",
  function: "tool",
};

/** What a model was called with, in any of the places where libraries record it. */
export function callOfRun(run: Pick<FullRun, "inputs" | "extra">): CallDraft {
  const metadata = run.extra?.metadata ?? {};
  const settings = {
    ...recordOf((run.extra as { invocation_params?: unknown } | null)?.invocation_params),
    ...recordOf(metadata.invocation_params),
  };
  const temperature = metadata.ls_temperature ?? settings.temperature;
  const tools = settings.tools ?? recordOf(run.inputs).tools;
  return {
    model: modelOf(metadata, settings),
    temperature: typeof temperature === "number" ? String(temperature) : "",
    tools: Array.isArray(tools) && tools.length > 0 ? JSON.stringify(tools, null, 2) : "",
    messages: draftsOf(messagesOf(run.inputs), run.inputs),
  };
}

const providers: readonly (readonly [RegExp, string])[] = [
  [/openai|azure/i, "openai"],
  [/anthropic/i, "anthropic"],
  [/google|gemini|vertex/i, "google"],
];

function modelOf(metadata: Record<string, unknown>, settings: Record<string, unknown>): string {
  const model = String(metadata.ls_model_name ?? settings.model ?? settings.model_name ?? "");
  const maker = String(metadata.ls_provider ?? "");
  if (maker === "offline" || model === "offline" || model === "") return "offline";
  const guessed = /^claude/.test(model) ? "anthropic" : /^gemini/.test(model) ? "google" : "openai";
  const provider = providers.find(([pattern]) => pattern.test(maker))?.[1] ?? guessed;
  return `${provider}/${model.replace(/^models\//, "")}`;
}

function draftsOf(messages: readonly ChatMessage[], inputs: unknown): Draft[] {
  if (messages.length > 0) return messages.map(draftOf);
  const prompts = recordOf(inputs).prompts ?? recordOf(inputs).prompt;
  const texts = (Array.isArray(prompts) ? prompts : [prompts]).filter((each) => typeof each === "string");
  const found: ChatMessage[] = texts.map((content) => ({ role: "user", content }));
  return (found.length > 0 ? found : [{ role: "user", content: "" }]).map(draftOf);
}

function draftOf(message: ChatMessage, key: number): Draft {
  const kind = (message.role ?? message.type ?? "user").replace(/MessageChunk$|Message$/, "").toLowerCase();
  const role = roleOf[kind] ?? roles.find((each) => each === kind) ?? "user";
  const isJson = typeof message.content !== "string" && message.content != null;
  const text = isJson ? JSON.stringify(message.content, null, 2) : String(message.content ?? "");
  const { tool_calls, tool_call_id, name } = message;
  const rest = {
    ...(Array.isArray(tool_calls) && tool_calls.length > 0 ? { tool_calls } : {}),
    ...(tool_call_id ? { tool_call_id } : {}),
    ...(name ? { name } : {}),
  };
  return { key, role, text, isJson, rest };
}

export type PlaygroundBody = {
  model: string;
  messages: Record<string, unknown>[];
  temperature: number | null;
  tools: Record<string, unknown>[] | null;
};

/** What is sent, or what is wrong with a field. */
export function bodyOf(draft: CallDraft): PlaygroundBody | { problem: string } {
  const { model, temperature } = draft;
  const warmth = temperature.trim() === "" ? null : Number(temperature);
  if (warmth !== null && !(warmth >= 0 && warmth <= 2))
    return { problem: "The temperature must be a number from 0 to 2, or empty." };
  const tools = draft.tools.trim() === "" ? null : parse(draft.tools);
  if (tools !== null && !(Array.isArray(tools) && tools.every(isRecord)))
    return { problem: "The tools must be a JSON list of objects." };
  const messages: Record<string, unknown>[] = [];
  for (const [index, { role, text, isJson, rest }] of draft.messages.entries()) {
    const content = isJson ? parse(text) : text;
    if (content === undefined) return { problem: `Message ${index + 1} is not valid JSON.` };
    messages.push({ role, content, ...rest });
  }
  if (messages.length === 0) return { problem: "A model needs at least one message." };
  return { model: model.trim(), messages, temperature: warmth, tools };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The provider a model's name begins with; null for the offline model. */
export function providerOf(model: string): string | null {
  const name = model.trim();
  return name === "" || name === "offline" ? null : (name.split(/[/:]/)[0] ?? null);
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
