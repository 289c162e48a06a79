import { interrupt } from "@langchain/langgraph";

export type AccountRequest = {
  provider: string;
  scopes: string[];
  /** The person on whose behalf; each has accounts of their own. */
  userId?: string | undefined;
  /** Tokens are kept per agent. */
  agentId?: string | undefined;
};

type Outcome =
  | { status: "completed"; token: string }
  | { status: "pending" | "token_expired"; url: string; auth_id: string }
  | { status: "connection_required" };

/**
 * An access token, valid for at least another minute. Without one the run stops here until it is resumed, and looks
 * again: a node is run from its start, so call this before anything that must not happen twice.
 */
export async function accessToken(request: AccountRequest): Promise<string> {
  for (;;) {
    const outcome = await authenticate(request);
    if (outcome.status === "completed") return outcome.token;
    if (!("url" in outcome)) throw new Error(`No account at ${request.provider} can be connected here.`);
    const answer: unknown = interrupt({
      message: `Connect your ${request.provider} account to go on.`,
      auth_url: outcome.url,
      auth_id: outcome.auth_id,
      provider: request.provider,
      scopes: request.scopes,
    });
    if (isNo(answer)) throw new Error(`You did not connect your ${request.provider} account.`);
  }
}

async function authenticate({ provider, scopes, userId, agentId }: AccountRequest): Promise<Outcome> {
  const response = await fetch(`${process.env.ACCOUNTS_URL}/v2/auth/authenticate`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": process.env.ACCOUNTS_KEY ?? "" },
    body: JSON.stringify({ provider, scopes, user_id: userId, agent_id: agentId }),
  });
  if (!response.ok) throw new Error(`The platform answered ${response.status} when asked for an account.`);
  return (await response.json()) as Outcome;
}

/** The chat page answers so when the person says "Not now". */
function isNo(answer: unknown): boolean {
  return answer === false || (answer as { type?: unknown } | null)?.type === "declined";
}
