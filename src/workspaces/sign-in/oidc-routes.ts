import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { type Route, type RouteRequest, type RouteSpec, route } from "../../platform/http/route.ts";
import type { Logger } from "../../platform/logger.ts";
import { signedInNote } from "../audit/audit.ts";
import type { ConsoleSessions } from "../sessions/console-session-service.ts";
import { sessionCookie } from "../sessions/session-cookie.ts";
import { browserOf, cookiePlace, type SignInPlace } from "./browser-request.ts";
import type { OidcAccounts } from "./oidc-account-service.ts";
import { attemptCookie, clearedAttemptCookie, readAttempt } from "./oidc-attempt-cookie.ts";
import type { OidcClient } from "./oidc-client.ts";
import { returnPath } from "./return-path.ts";
import { SignInProblem } from "./sign-in-problem.ts";

export const oidcStart = "/v2/auth/oidc/start";
export const oidcCallback = "/v2/auth/oidc/callback";
const tag = "Sign-in";
const redirect = {
  303: { description: "A redirect to the provider, to the previous page, or to the sign-in page" },
};

/** A browser's way to the provider and back. Both answer with redirects, failures too: a person is looking. */
export function oidcRoutes(options: {
  client: OidcClient;
  accounts: OidcAccounts;
  sessions: ConsoleSessions;
  place: SignInPlace;
  baseUrl: () => string;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
}): Route[] {
  const { client, accounts, sessions, place, secretBox, clock, logger } = options;
  const redirectUri = () => `${options.baseUrl()}${oidcCallback}`;

  /** Anything that is no SignInProblem is this server's fault, and shown as such. */
  const toSignInPage = (error: unknown, returnTo: string, cookies: string[]) => {
    if (!(error instanceof SignInProblem)) throw error;
    logger.warn({ problem: error.problem, reason: error.message }, "a single sign-on failed");
    const page = new URLSearchParams({ problem: error.problem, return_to: returnTo });
    return found(`/sign-in?${page}`, cookies);
  };

  const enter = async (
    { request, remoteAddress, audit }: Pick<RouteRequest<RouteSpec>, "request" | "remoteAddress" | "audit">,
    answer: URLSearchParams,
  ) => {
    const { headers } = request;
    const cookies = cookiePlace(headers, place);
    const attempt = readAttempt(headers, cookies, secretBox, clock.now());
    const cleared = clearedAttemptCookie(cookies);
    try {
      if (attempt === null)
        throw new SignInProblem("expired", "This browser has not started a sign-in recently.");
      const user = await accounts.admit(await client.finish(attempt, answer, redirectUri()));
      const browser = browserOf(headers, remoteAddress, place);
      const { secret, session } = await sessions.start({
        ...user,
        apiKey: null,
        method: "oidc",
        userAgent: browser.userAgent,
        address: browser.address,
        replaces: browser.presented,
      });
      audit.note = signedInNote(session);
      const seconds = (session.expires_at.getTime() - session.created_at.getTime()) / 1000;
      return found(attempt.returnTo, [cleared, sessionCookie(secret, cookies, seconds)]);
    } catch (error) {
      if (error instanceof SignInProblem) audit.note = { refused: `sign_in.${error.problem}` };
      return toSignInPage(error, attempt?.returnTo ?? "/", [cleared]);
    }
  };

  return [
    route(
      {
        method: "get",
        path: oidcStart,
        operationId: "start_single_sign_on",
        summary: "Sign in with the provider",
        tag,
        access: { kind: "open" },
        query: z.object({
          return_to: z.string().max(2_000).optional().describe("A page of the console to go to afterwards."),
        }),
        responses: redirect,
      },
      async ({ request, query }) => {
        const returnTo = returnPath(query.return_to);
        try {
          const attempt = client.newAttempt();
          const url = await client.authorizationUrl(attempt, redirectUri());
          const cookies = cookiePlace(request.headers, place);
          const cookie = attemptCookie({ ...attempt, returnTo }, cookies, secretBox, clock.now());
          return found(url.href, [cookie]);
        } catch (error) {
          return toSignInPage(error, returnTo, []);
        }
      },
    ),
    route(
      {
        method: "get",
        path: oidcCallback,
        operationId: "finish_single_sign_on",
        summary: "The callback to which the provider redirects the browser",
        tag,
        access: { kind: "open" },
        audit: { action: "session.signed_in" },
        responses: redirect,
      },
      (asked) => enter(asked, new URL(asked.request.url).searchParams),
    ),
  ];
}

function found(location: string, cookies: string[]): Response {
  const headers = new Headers({ location, "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}
