import { type Route, route } from "../../platform/http/route.ts";
import { callbackPolicy } from "./callback-page.ts";
import { consentPage, consentPagePath, consentScript, consentStyle } from "./consent-page.ts";

const tag = "Auth Service (v2)";

/** Open, because a link carries no credential; therefore they only serve the page. */
export function consentPageRoutes(): Route[] {
  return [
    asset("/{auth_id}", "text/html; charset=utf-8", consentPage),
    asset("/assets/consent.js", "text/javascript; charset=utf-8", consentScript),
    asset("/assets/consent.css", "text/css; charset=utf-8", consentStyle),
  ];
}

function asset(path: `/${string}`, contentType: string, text: string): Route {
  const isPage = path === "/{auth_id}";
  return route(
    {
      method: "get",
      path: `${consentPagePath}${path}`,
      operationId: `get_consent_page${isPage ? "" : ` ${path}`}`,
      summary: "The page that redirects a person to a consent",
      description:
        "The same for everybody. Its script requests the consent as the person who is signed in, and redirects only the person it belongs to.",
      tag,
      access: { kind: "open" },
      responses: { 200: { description: "The page", contentType } },
      hidden: !isPage,
    },
    () =>
      new Response(text, {
        headers: {
          "content-type": contentType,
          "cache-control": "no-store",
          "content-security-policy": callbackPolicy,
          "cross-origin-opener-policy": "same-origin",
          "referrer-policy": "no-referrer",
        },
      }),
  );
}
