import { type Route, route } from "../../platform/http/route.ts";
import { callbackPath } from "../providers/provider.ts";
import { callbackPage, callbackPolicy, callbackScript, callbackStyle } from "./callback-page.ts";

const tag = "Auth Service (v2)";
const apiPath = "/v2/auth/callback";
const setupPath = "/v2/auth/setup";
const pagePath = `${apiPath}/{provider_id}`;

/** Open, because the provider's redirect carries no credential; therefore they only serve the page. */
export function callbackPageRoutes(): Route[] {
  return [callbackPath, apiPath, setupPath].flatMap((path) => [
    asset(`${path}/{provider_id}`, "text/html; charset=utf-8", callbackPage),
    asset(`${path}/assets/callback.js`, "text/javascript; charset=utf-8", callbackScript),
    asset(`${path}/assets/callback.css`, "text/css; charset=utf-8", callbackStyle),
  ]);
}

function asset(path: string, contentType: string, text: string): Route {
  return route(
    {
      method: "get",
      path: path as `/${string}`,
      operationId: `get_oauth_callback_page${path === pagePath ? "" : ` ${path}`}`,
      summary: "The page to which a provider redirects people",
      description: "Loading it connects nothing; its script finishes the consent with an authenticated POST.",
      tag,
      access: { kind: "open" },
      responses: { 200: { description: "The page", contentType } },
      hidden: path !== pagePath,
    },
    () =>
      new Response(text, {
        headers: {
          "content-type": contentType,
          "cache-control": "no-store",
          "content-security-policy": callbackPolicy,
          "cross-origin-opener-policy": "same-origin",
        },
      }),
  );
}
