/** A chat message as graphs and models keep it; unknown content is shown as data. */
export type ChatMessage = {
  type?: string;
  role?: string;
  id?: unknown;
  name?: string;
  content?: unknown;
  tool_calls?: unknown;
  tool_call_id?: string;
  status?: string;
  [key: string]: unknown;
};

export function isChatMessage(value: unknown): value is ChatMessage {
  if (value === null || typeof value !== "object" || !("content" in value)) return false;
  const { type, role } = value as ChatMessage;
  return typeof type === "string" || typeof role === "string";
}
