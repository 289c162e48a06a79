import { AIMessage } from "@langchain/core/messages";
import {
  END,
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { accessToken } from "./accounts.ts";

const provider = process.env.PROVIDER ?? "github";
const scopes = (process.env.SCOPES ?? "read:user").split(" ");
const profileUrl = process.env.PROFILE_URL ?? "https://api.github.com/user";

async function answer(_state: unknown, config: LangGraphRunnableConfig) {
  const { user_id, langgraph_auth_user_id, assistant_id } = (config.configurable ?? {}) as Record<
    string,
    string | undefined
  >;
  // Who a project's own authentication recognised, else whom the caller names.
  const userId = langgraph_auth_user_id ?? user_id;
  const token = await accessToken({ provider, scopes, userId, agentId: assistant_id });
  const response = await fetch(profileUrl, {
    headers: { authorization: `Bearer ${token}`, "user-agent": "account-agent" },
  });
  if (!response.ok) throw new Error(`${provider} answered ${response.status}.`);
  const { name, login, sub } = (await response.json()) as Record<string, string | undefined>;
  return { messages: [new AIMessage(`You are ${name ?? login ?? sub}.`)] };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", answer)
  .addEdge(START, "answer")
  .addEdge("answer", END)
  .compile();
