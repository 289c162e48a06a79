import type { SignInWays } from "../api/wire.ts";
import { consoleHeaders } from "../session.ts";

export type Ways = SignInWays;

/** The server's refusal with its message; `code` identifies it. */
export class SignInRefusal extends Error {
  readonly code: string | null;

  constructor(message: string, code: string | null = null) {
    super(message);
    this.name = "SignInRefusal";
    this.code = code;
  }
}

export async function readWays(signal: AbortSignal): Promise<Ways> {
  return (await send("/v2/auth/sign-in", { headers: consoleHeaders, signal })).json() as Promise<Ways>;
}

export async function signInWithKey(apiKey: string, remember: boolean): Promise<void> {
  await post("/v2/auth/sign-in/key", { api_key: apiKey, remember });
}

export async function signInWithCode(code: string, replace: boolean): Promise<void> {
  await post("/v2/auth/sign-in/code", { code, replace });
}

function post(path: string, body: unknown): Promise<Response> {
  const headers = { ...consoleHeaders, "content-type": "application/json" };
  return send(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    return null;
  });
  if (response === null) {
    throw new SignInRefusal("The server does not respond. Check that it runs, then try again.");
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { detail?: unknown };
  const words =
    typeof body.detail === "string" ? body.detail : `The server answered with status ${response.status}.`;
  throw new SignInRefusal(words, response.headers.get("x-error-code"));
}

/** What the provider's answer came to, with what to do. The server names the problem. */
export const problemWords: Record<string, { title: string; text: string }> = {
  provider_unreachable: {
    title: "The provider does not answer",
    text: "The server could not reach the sign-in provider. Try again in a moment. If that does not help, the operator of this server can find the reason in its log.",
  },
  provider_refused: {
    title: "The provider refused",
    text: "The sign-in provider did not accept this server's request. The operator of this server can find the reason in its log: most often the client id, the secret or the redirect URI.",
  },
  denied: {
    title: "You are not signed in",
    text: "You, or your provider, did not allow it. Try again, and allow access when asked.",
  },
  expired: {
    title: "That took too long",
    text: "The sign-in was started in another browser, or more than ten minutes ago. Start again here.",
  },
  clock: {
    title: "The clocks disagree",
    text: "This server's clock and the provider's differ too much. The operator of this server should set its clock, for example with NTP.",
  },
  email_missing: {
    title: "Your provider sent no address",
    text: "The provider sent no email address for your account. Add one there, or ask the operator of this server to request the scope email.",
  },
  email_unverified: {
    title: "Your address is not verified",
    text: "The provider does not confirm your email address. Verify it there, then sign in again.",
  },
  identity_taken: {
    title: "That address belongs to somebody else here",
    text: "Another account of the provider is already linked to this address. Ask an administrator of the workspace.",
  },
  no_role: {
    title: "You have no role here",
    text: "The provider knows you, but none of your groups has a role in this workspace. Ask an administrator to add you, or to add your group.",
  },
};

/** A page of this console, or its start: the parameter may have been written by anybody. */
export function pathAfterSignIn(search: string): string {
  const wanted = new URLSearchParams(search).get("return_to") ?? "/";
  const url = URL.parse(wanted, location.origin);
  const own = url !== null && url.origin === location.origin && /^\/(?![/\\])/.test(wanted);
  return own && url.pathname !== "/sign-in" && !url.pathname.startsWith("//")
    ? url.pathname + url.search + url.hash
    : "/";
}
