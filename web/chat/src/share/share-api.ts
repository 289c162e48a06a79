import type { Answers, ChatShare } from "../../../../openapi/wire.d.ts";
import { connection } from "../connection.ts";
import type { ChatServer, ThreadSummary } from "../servers/chat-server.ts";
import { httpApi, RefusedError } from "../servers/http-api.ts";

const { call } = httpApi(location.origin, connection.fetch);

/** Which conversation, as this server knows it: a server of the browser's own is known by the id it has here. */
const placeOf = (server: ChatServer, threadId: string) => ({ server: server.id, thread: threadId });
const pathOf = (server: ChatServer, threadId: string) =>
  `/v2/chat/shares?${new URLSearchParams(placeOf(server, threadId))}`;

/** Undefined where it is not shared. */
export async function findShare(server: ChatServer, threadId: string): Promise<ChatShare | undefined> {
  try {
    return await call<ChatShare>("GET", pathOf(server, threadId));
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return undefined;
    throw error;
  }
}

/** As it is now: later messages are not shared. */
export async function share(server: ChatServer, thread: ThreadSummary): Promise<ChatShare> {
  const [latest] = await server.listCheckpoints(thread.thread_id, { limit: 1 });
  const messages = latest?.values.messages ?? [];
  return call<ChatShare>("PUT", "/v2/chat/shares", {
    ...placeOf(server, thread.thread_id),
    title: thread.title,
    messages,
  });
}

export async function unshare(server: ChatServer, threadId: string): Promise<undefined> {
  await call("DELETE", pathOf(server, threadId));
}

/** Without a credential: the link is enough. */
export async function openShared(token: string): Promise<Answers["open_shared_conversation"]> {
  const { call: ask } = httpApi(location.origin, (input, init) =>
    fetch(input, { ...init, credentials: "omit" }),
  );
  return ask("GET", `/v2/chat/shared/${encodeURIComponent(token)}`);
}
