import { createHash } from "node:crypto";

/** A conversation as the offline model reads it: plain text, from any content blocks. */
export type ScriptTurn = {
  role: "human" | "ai" | "tool" | "system";
  text: string;
  toolName?: string;
  toolArgs?: string;
};

export type ScriptedToolCall = { id: string; name: string; args: Record<string, unknown> };

export type ScriptedReply = {
  id: string;
  reasoning: string;
  text: string;
  toolCalls: ScriptedToolCall[];
  usage: { input_tokens: number; output_tokens: number; total_tokens: number };
};

export type ReplyDraft = {
  reasoning?: string;
  text?: string;
  calls?: { name: string; args: Record<string, unknown> }[];
};

/** Ids come from the texts so far and their number, so the same conversation always gives the same ones. */
export function finishReply(draft: ReplyDraft, turns: readonly ScriptTurn[], voice: string): ScriptedReply {
  const conversation = turns.map((turn) => `${turn.role}\u0000${turn.text}`).join("\u0001");
  const seed = createHash("sha256")
    .update(`${voice}\u0002${turns.length}\u0002${conversation}`)
    .digest("hex");
  const reasoning = draft.reasoning ?? "";
  const text = draft.text ?? "";
  const toolCalls = (draft.calls ?? []).map((call, position) => ({
    id: `call_${seed.slice(24, 44)}${position}`,
    ...call,
  }));
  const input = estimateTokens(turns.map((turn) => turn.text).join(" "));
  const output = estimateTokens(reasoning + text + JSON.stringify(toolCalls.map(({ args }) => args)));
  return {
    id: `msg_${seed.slice(0, 24)}`,
    reasoning,
    text,
    toolCalls,
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  };
}

/** About four characters each, the usual rule of thumb. */
export function estimateTokens(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

/** Words with the space before them; joined again they are the text. */
export function splitIntoTokens(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}
