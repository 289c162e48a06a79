import { fileURLToPath } from "node:url";
import { z } from "zod";
import { AppError } from "../platform/errors.ts";
import type { Authenticator, Caller } from "../platform/http/access/caller.ts";
import { json, type Route, route } from "../platform/http/route.ts";
import { staticPageRoutes } from "../platform/http/static-page.ts";
import { isStudioCode, isStudioToken, studioCookieName, studioToken } from "./studio-code.ts";

/** A header that other sites' pages cannot send: the cookie alone proves nothing. */
const ownHeader = "x-treadle-console";

/** A change of the project that could not be loaded: what served before keeps serving. */
export type FailedReload = {
  code: string;
  message: string;
  /** Names of the files that changed. */
  changed: string[];
};

export type StudioOptions = {
  folder?: string | undefined;
  /** Of the last change, null if it was loaded; only where the project's files are watched. */
  failedReload?: (() => FailedReload | null) | undefined;
};

const reloadBody = z.object({
  watched: z.boolean(),
  failure: z.object({ code: z.string(), message: z.string(), changed: z.array(z.string()) }).nullable(),
});

/** The studio beside an agent server that stands alone: its page, and who came to it by a link. */
export class Studio {
  readonly #secret: string;
  readonly #folder: string;
  readonly #failedReload: StudioOptions["failedReload"];
  /** Links that were used; each is forgotten when its time would be up anyway. */
  readonly #used = new Set<string>();

  constructor(secret: string, { folder, failedReload }: StudioOptions = {}) {
    this.#secret = secret;
    this.#failedReload = failedReload;
    this.#folder = folder ?? fileURLToPath(new URL("../../web/console/dist", import.meta.url));
  }

  routes(): Route[] {
    return [
      route(
        {
          method: "get",
          path: "/studio/reload",
          operationId: "readStudioReload",
          summary: "Read whether the last change of the project could be loaded",
          tag: "Studio",
          access: { kind: "agent", role: "viewer", scope: ["read", "runs"] },
          responses: { 200: { description: "The failure, or null", schema: reloadBody } },
          hidden: true,
        },
        async () => {
          const failure = this.#failedReload?.() ?? null;
          return json(200, { watched: this.#failedReload !== undefined, failure });
        },
      ),
      ...staticPageRoutes({
        folder: this.#folder,
        name: "The studio",
        tag: "Studio",
        operationId: "studioPage",
        paths: ["/studio", "/studio/{rest*}"],
        assets: "/console/assets",
        unbuiltNote: "Every endpoint works without it: see the <a href=/docs>reference</a>.",
      }),
      route(
        {
          method: "post",
          path: "/studio/sign-in",
          operationId: "signInToStudio",
          summary: "Sign a browser in with the link that the server printed",
          tag: "Studio",
          access: { kind: "open" },
          body: z.object({ code: z.string().max(200) }),
          responses: { 204: { description: "Signed in: a cookie is set." } },
          errors: [401],
          hidden: true,
        },
        async ({ body, request }) => {
          this.#requireOwnPage(request.headers);
          this.#redeem(body.code);
          const secure = new URL(request.url).protocol === "https:" ? "; Secure" : "";
          const cookie = `${studioCookieName(this.#secret)}=${studioToken(this.#secret)}`;
          return new Response(null, {
            status: 204,
            headers: { "set-cookie": `${cookie}; HttpOnly; SameSite=Strict; Path=/${secure}` },
          });
        },
      ),
    ];
  }

  /** Lets in who came by a link; everybody else is as before. */
  letIn(own: Authenticator): Authenticator {
    return {
      authenticate: async (headers, request): Promise<Caller | null> => {
        if (!this.#isSignedIn(headers)) return own.authenticate(headers, request);
        return { ...(await own.loopbackCaller()), userId: "studio", via: "console" };
      },
      loopbackCaller: () => own.loopbackCaller(),
    };
  }

  #redeem(code: string): void {
    const now = Date.now();
    for (const each of this.#used) if (!isStudioCode(this.#secret, each, now)) this.#used.delete(each);
    if (!isStudioCode(this.#secret, code, now) || this.#used.has(code)) {
      throw new AppError({
        code: "console.studio_link_used",
        kind: "unauthenticated",
        message: "This link was already used or has expired. Restart the server: it prints a new one.",
      });
    }
    this.#used.add(code);
  }

  #isSignedIn(headers: Headers): boolean {
    if (headers.get(ownHeader) === null || !isOwnOrigin(headers)) return false;
    const name = `${studioCookieName(this.#secret)}=`;
    const cookies = (headers.get("cookie") ?? "").split(/;\s*/);
    const found = cookies.find((cookie) => cookie.startsWith(name));
    return found !== undefined && isStudioToken(this.#secret, found.slice(name.length));
  }

  #requireOwnPage(headers: Headers): void {
    if (headers.get(ownHeader) !== null && isOwnOrigin(headers)) return;
    throw new AppError({
      code: "console.studio_link_used",
      kind: "unauthenticated",
      message: "Only the studio's own page can sign in.",
    });
  }
}

/** Browsers send the origin of a request; a request from another site's page is refused. */
function isOwnOrigin(headers: Headers): boolean {
  const origin = headers.get("origin");
  if (origin === null) return true;
  return URL.canParse(origin) && new URL(origin).host === headers.get("host");
}
