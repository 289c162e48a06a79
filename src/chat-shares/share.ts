import { z } from "zod";

/** A conversation as it was when somebody shared it. */
export type Share = {
  token: string;
  workspace_id: string;
  user_id: string;
  /** The server it was held on, as the page names it, and its thread there. */
  server: string;
  thread: string;
  title: string;
  messages_json: string;
  created_at: Date;
};

const conversation = { server: z.string().min(1).max(200), thread: z.string().min(1).max(200) };

export const shareBody = z
  .object({
    ...conversation,
    title: z.string().max(500),
    messages: z
      .array(z.record(z.string(), z.unknown()))
      .min(1)
      .max(2_000)
      .describe("Messages as threads hold them."),
  })
  .meta({ id: "ChatShareRequest" });

export const shareQuery = z.object(conversation);

export const shareView = z
  .object({ share_token: z.guid(), path: z.string(), created_at: z.string() })
  .meta({ id: "ChatShare" });

export const sharedConversation = z
  .object({ title: z.string(), messages: z.array(z.record(z.string(), z.unknown())), created_at: z.string() })
  .meta({ id: "SharedConversation" });

/** Behind `#`, where neither logs nor other servers see it. */
export function toShareView({
  token,
  created_at,
}: Pick<Share, "token" | "created_at">): z.input<typeof shareView> {
  return { share_token: token, path: `/chat#/shared/${token}`, created_at: created_at.toISOString() };
}

type Message = Record<string, unknown>;

const spoken = ["human", "ai", "tool"];
const fields = ["id", "type", "content", "tool_calls", "tool_call_id", "name", "status"];

/** Of each message what a page draws. Everything else a graph keeps, instructions included, is not shared. */
export function shownMessages(messages: readonly Message[]): Message[] {
  return messages
    .filter(({ type }) => spoken.includes(String(type)))
    .map((message) =>
      Object.fromEntries(fields.flatMap((name) => (name in message ? [[name, message[name]]] : []))),
    );
}
