import { z } from "zod";
import { json, type Route, type RouteRequest, type RouteSpec, route } from "../../platform/http/route.ts";
import { signedInNote } from "../audit/audit.ts";
import { clearedSessionCookie, sessionCookie } from "../sessions/session-cookie.ts";
import { sessionBody, toWire } from "../sessions/session-wire.ts";
import {
  browserOf,
  cookiePlace,
  countingRefusals,
  requireOwnPage,
  type SignInPlace,
} from "./browser-request.ts";
import type { SignedIn, SignInService } from "./sign-in-service.ts";

const tag = "Sign-in";
const remember = z.boolean().default(false).describe("Keep the session when the browser is closed.");

const ways = z
  .object({
    key: z.boolean().describe("Whether people can sign in with an API key."),
    oidc: z
      .object({ name: z.string(), start: z.string().describe("Where the browser goes to sign in there.") })
      .nullable(),
  })
  .meta({ id: "SignInWays" });

type Asked = Pick<RouteRequest<RouteSpec>, "request" | "remoteAddress" | "audit">;

/** How people sign in to the console. Each answer sets an HttpOnly cookie; no key stays in the browser. */
export function signInRoutes(
  service: SignInService,
  place: SignInPlace & { ways: z.infer<typeof ways> },
): Route[] {
  const signIn = async (
    { request, remoteAddress, audit }: Asked,
    credential: string,
    keep: boolean,
    work: (browser: ReturnType<typeof browserOf>) => Promise<SignedIn>,
  ) => {
    const { headers } = request;
    requireOwnPage(headers, request, place);
    const browser = browserOf(headers, remoteAddress, place);
    const { secret, session } = await countingRefusals(
      credential,
      browser.address,
      place.failedCredentials,
      () => work(browser),
    );
    audit.note = signedInNote(session);
    const seconds = (session.expires_at.getTime() - session.created_at.getTime()) / 1000;
    return json(201, toWire(session, session.id), {
      "set-cookie": sessionCookie(secret, cookiePlace(headers, place), keep ? seconds : null),
      "cache-control": "no-store",
    });
  };
  return [
    route(
      {
        method: "get",
        path: "/v2/auth/sign-in",
        operationId: "list_sign_in_ways",
        summary: "How people may sign in to the console",
        tag,
        access: { kind: "open" },
        responses: { 200: { description: "The ways", schema: ways } },
      },
      () => json(200, place.ways, { "cache-control": "no-store" }),
    ),
    route(
      {
        method: "post",
        path: "/v2/auth/sign-in/key",
        operationId: "sign_in_with_key",
        summary: "Sign in to the console with an API key",
        description:
          "For the console's own page. The key is sent only once; the response sets the session cookie.",
        tag,
        access: { kind: "open" },
        audit: { action: "session.signed_in", target: { kind: "session", id: "answer.id" } },
        body: z.object({ api_key: z.string().trim().min(1).max(1_000), remember }),
        maxBodyBytes: 10_000,
        responses: { 201: { description: "The session", schema: sessionBody } },
        errors: [401, 403, 429],
      },
      ({ body, ...asked }) =>
        signIn(asked, body.api_key, body.remember, (browser) => service.withKey(body.api_key, browser)),
    ),
    route(
      {
        method: "post",
        path: "/v2/auth/sign-in/code",
        operationId: "sign_in_with_code",
        summary: "Sign in to the console with a one-time link",
        description:
          "For the console's own page: exchanges the code of a link once. 409 while somebody else is signed in, unless `replace` is true, which signs them out.",
        tag,
        access: { kind: "open" },
        audit: { action: "session.signed_in", target: { kind: "session", id: "answer.id" } },
        body: z.object({
          code: z.string().trim().min(1).max(200),
          remember,
          replace: z.boolean().default(false).describe("Sign out the person who is signed in."),
        }),
        maxBodyBytes: 10_000,
        responses: { 201: { description: "The session", schema: sessionBody } },
        errors: [401, 403, 409, 429],
      },
      ({ body, ...asked }) =>
        signIn(asked, body.code, body.remember, (browser) =>
          service.withCode(body.code, browser, body.replace),
        ),
    ),
  ];
}

export function signOutHeaders(headers: Headers, place: SignInPlace): Record<string, string> {
  return { "set-cookie": clearedSessionCookie(cookiePlace(headers, place)) };
}
