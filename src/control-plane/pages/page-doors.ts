import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newSecret } from "../../platform/ids.ts";
import { type EntryStates, entryLifetimeMs } from "./entry-state.ts";
import { cookieName, readCookie, setCookie } from "./page-cookies.ts";
import { type PageAnswer, pageNotice, redirectTo } from "./page-notice.ts";
import { isOfOwnPage } from "./page-request.ts";

/** The pages of one deployment, and one browser's attempt to enter them. */
export type PagePlace = { deploymentId: string; origin: string; state: string };

/** What the platform knows of people who are signed in to the console. */
export type PagePasses = {
  /** The person of the caller's console session as they are in that workspace; null where it is not theirs. */
  personIn(caller: Caller, workspaceId: string): Promise<Caller | null>;
  /** A code for this place, good once and for a minute. */
  makeCode(person: Caller, place: PagePlace): Promise<{ code: string; expiresAt: Date }>;
  /** The token that the browser then keeps; null if the code is not valid for this place. */
  redeem(code: string, place: PagePlace): Promise<string | null>;
  /** The caller that the token identifies at this origin; null when it has ended. */
  callerOf(token: string, origin: string): Promise<Caller | null>;
};

/** A request at the origin of a deployment. */
export type PageRequest = { slug: string; origin: string; method: string; headers: IncomingHttpHeaders };

export type PageDoorsOptions = { passes: PagePasses; states: EntryStates; platformUrl(): string };

/** How a browser without a key enters the pages of a deployment. */
export class PageDoors {
  readonly #options: PageDoorsOptions;

  constructor(options: PageDoorsOptions) {
    this.#options = options;
  }

  /**
   * The caller that the page's cookie identifies, or null. Throws 403 when a page of another origin sent the cookie.
   */
  async callerOf(
    { origin, method, headers }: PageRequest,
    deploymentId: string | undefined,
  ): Promise<Caller | null> {
    const cookie = readCookie(headers.cookie, "page", origin);
    if (cookie.kind !== "one") return null;
    const caller = await this.#options.passes.callerOf(cookie.value, origin);
    // The name may belong to another deployment by now.
    if (caller === null || caller.deploymentId !== deploymentId) return null;
    if (isOfOwnPage(method, headers, origin)) return caller;
    throw foreignPage(origin);
  }

  /** For a browser without a credential: on to the console, which knows who is signed in. */
  begin({ slug, origin, headers }: PageRequest, target: string): PageAnswer {
    if (readCookie(headers.cookie, "page", origin).kind === "several") return twoCookies(origin);
    // Several tabs may be on their way at once, so the browser keeps the secret it has.
    const known = readCookie(headers.cookie, "entry", origin);
    const browser = known.kind === "one" ? known.value : newSecret(32);
    const state = this.#options.states.make({ origin, browser, target });
    const cookie = setCookie("entry", browser, origin, entryLifetimeMs / 1000);
    return redirectTo(`${this.#options.platformUrl()}/open/${slug}?state=${state}`, cookie);
  }

  /** Back from there, with a code. `refused` is the reason, for the audit log. */
  async finish(
    { origin, headers }: PageRequest,
    target: string,
    deploymentId: string | undefined,
  ): Promise<{ answer: PageAnswer; refused: string | null }> {
    const query = new URLSearchParams(target.slice(target.indexOf("?") + 1));
    const given = query.get("state") ?? "";
    const state = this.#options.states.open(given, origin);
    const browser = readCookie(headers.cookie, "entry", origin);
    if (browser.kind === "several") return refused("page.two_cookies", twoCookies(origin));
    // Another browser began it: its code would make this one act as another user.
    if (state === null || browser.kind !== "one" || !state.isOf(browser.value)) {
      return refused(
        "page.not_begun_here",
        pageNotice(403, {
          title: "This page was not opened",
          text: "This browser did not request it in the last ten minutes, or does not keep cookies.",
          path: "/",
        }),
      );
    }
    const code = query.get("code") ?? "";
    const place = { origin, state: given };
    const token = deploymentId && (await this.#options.passes.redeem(code, { ...place, deploymentId }));
    if (!token) {
      return refused(
        "page.bad_code",
        pageNotice(403, {
          title: "This page was not opened",
          text: "The code was already used, is older than a minute, or is for another page. Or you have signed out meanwhile.",
          path: state.path,
        }),
      );
    }
    return { answer: redirectTo(state.path, setCookie("page", token, origin)), refused: null };
  }
}

function refused(code: string, answer: PageAnswer) {
  return { answer, refused: code };
}

/** Starting again would change nothing: the browser would send both cookies again. */
function twoCookies(origin: string): PageAnswer {
  return pageNotice(403, {
    title: "Your browser sends two cookies with the same name",
    text: `Another site under this domain has set a cookie named like ${cookieName("page", origin)}, so this server cannot tell who you are. Delete the cookies of this domain in your browser first.`,
    path: "/",
  });
}

function foreignPage(origin: string): AppError {
  return new AppError({
    code: "gateway.foreign_page",
    kind: "forbidden",
    message: `Your browser sent the cookie of ${origin} along, but this request is not from a page there. Send it from there, or with a key as X-Api-Key.`,
  });
}
