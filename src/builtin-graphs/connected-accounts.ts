import { AppError } from "../platform/errors.ts";
import type { GuardedInit } from "../platform/network/network-guard.ts";

/** Whose accounts they are. */
export type AccountOwner = { workspaceId: string; userId: string };

type AskedProvider = { id: string; name: string };

export type AccountAccess =
  | {
      status: "completed";
      token: string;
      account: string | null;
      provider: AskedProvider;
      userinfoUrl: string | null;
    }
  | { status: "pending"; url: string; authId: string; scopes: string[]; provider: AskedProvider }
  | { status: "unknown_provider"; known: AskedProvider[] };

/** The accounts people have connected at other services. An access token comes out of it, never a refresh token. */
export type ConnectedAccounts = {
  /** The person who started the run, from its `configurable`; undefined if that person's accounts may not be used. */
  userOf(configurable: Record<string, unknown> | undefined): AccountOwner | undefined;
  access(
    user: AccountOwner,
    request: { provider: string; scopes?: readonly string[] | undefined; agentId?: string | undefined },
  ): Promise<AccountAccess>;
  decline(user: AccountOwner, authId: string): Promise<void>;
  fetch(url: string, init: GuardedInit): Promise<Response>;
};

/** What a person is asked: the shape clients of the auth service know. */
export type ConsentRequest = {
  message: string;
  auth_url: string;
  auth_id: string;
  provider: string;
  provider_name: string;
  scopes: string[];
};

export function consentRequest(pending: Extract<AccountAccess, { status: "pending" }>): ConsentRequest {
  const { provider, url, authId, scopes } = pending;
  return {
    message: `I need your ${provider.name} account to go on. What I may do with it is decided there.`,
    auth_url: url,
    auth_id: authId,
    provider: provider.id,
    provider_name: provider.name,
    scopes,
  };
}

const refusals = /^\s*(n|no|nope|not now|later|false|reject(ed)?|den(y|ied)|declined?|cancel|stop|skip)\b/i;

/** Anything but a clear no means: look again. Whether the account is connected is not for the client to decide. */
export function isDeclined(answer: unknown): boolean {
  if (typeof answer === "boolean") return !answer;
  if (typeof answer === "string") return refusals.test(answer);
  if (Array.isArray(answer)) return isDeclined(answer[0]);
  if (answer === null || typeof answer !== "object") return false;
  const { type, status, decisions } = answer as Record<string, unknown>;
  return isDeclined(decisions ?? type ?? status ?? "");
}

const nameFields = ["name", "display_name", "displayName", "global_name", "real_name", "user"];
const handleFields = ["email", "login", "username", "preferred_username", "userPrincipalName", "sub", "id"];
const maxResponseBytes = 256 * 1024;

/** Whose account it is, from the provider; null when it does not answer that. */
export async function askForOwner(
  accounts: Pick<ConnectedAccounts, "fetch">,
  { userinfoUrl, token, provider }: Extract<AccountAccess, { status: "completed" }>,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  if (userinfoUrl === null) return null;
  try {
    const answer = await accounts.fetch(userinfoUrl, {
      headers: { authorization: `Bearer ${token}`, accept: "application/json", "user-agent": "treadle" },
      // A redirect could lead the token elsewhere.
      redirect: "manual",
      timeoutMs: 15_000,
      maxResponseBytes,
      ...(signal ? { signal } : {}),
    });
    return answer.ok ? ownerOf(await answer.json()) : null;
  } catch (error) {
    if (signal?.aborted) throw error;
    if (error instanceof AppError || error instanceof SyntaxError) return null;
    // Without the cause, whose text might repeat what was sent.
    throw new Error(`${provider.name} could not be asked whose account it is.`);
  }
}

/** "Ada (ada@example.com)", from what providers call it. */
export function ownerOf(profile: unknown): string | null {
  if (profile === null || typeof profile !== "object") return null;
  const { data, ...own } = profile as Record<string, unknown>;
  const fields = data !== null && typeof data === "object" ? (data as Record<string, unknown>) : own;
  const first = (names: readonly string[]) => {
    const found = names.map((name) => fields[name]).find(isShortText);
    return found === undefined ? undefined : String(found);
  };
  const name = first(nameFields);
  const handle = first(handleFields);
  if (name === undefined) return handle ?? null;
  return handle === undefined || handle === name ? name : `${name} (${handle})`;
}

function isShortText(value: unknown): value is string | number {
  return (typeof value === "string" && value !== "" && value.length <= 320) || typeof value === "number";
}
