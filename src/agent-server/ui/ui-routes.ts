import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asksNothing } from "../auth/route-rules.ts";
import type { UiBundles } from "./ui-bundles.ts";
import { baseUrlOf, inlineSnippet, isOfThisSite, linkedSnippet } from "./ui-snippet.ts";

export type UiRoutesOptions = {
  bundles: UiBundles | undefined;
  /** Which graph an assistant has; rejects when there is none that the caller may read. */
  graphOf(caller: Caller, assistantId: string): Promise<string>;
  mountPrefix: string;
};

const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const tag = "Generative UI";
const params = z.object({
  assistant_id: z
    .string()
    .min(1)
    .describe('An assistant, a graph, or a name under "ui" in the project file.'),
});
const body = z.object({ name: z.string().min(1).max(500).describe("The component.") });

/** What `LoadExternalComponent` of the client library asks for. */
export function uiRoutes(options: UiRoutesOptions): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/ui/{assistant_id}",
        operationId: "loadUiComponent",
        summary: "HTML that loads a component of an assistant",
        description:
          "Script and style for a shadow root of the page, with `{{shadowRootId}}` to be filled in. Tags with addresses where the page's browser can load them without a credential; else the files themselves.",
        tag,
        access: viewer,
        guard: asksNothing,
        params,
        body,
        responses: { 200: { description: "The HTML.", contentType: "text/html" } },
        errors: [404, 409],
      },
      async ({ caller, params: { assistant_id }, body, keyed, request }) => {
        const { bundles, name } = await findUi(options, caller, assistant_id);
        const snippet = { name, component: body.name, bundle: await bundles.get(name) };
        const { headers, url } = request;
        const urlHost = new URL(url).host;
        const open =
          !keyed && caller.via === "loopback" && !caller.principal && isOfThisSite(headers, urlHost);
        const html = open
          ? linkedSnippet(snippet, baseUrlOf(headers, urlHost, options.mountPrefix))
          : inlineSnippet(snippet);
        return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
      },
    ),
    agentRoute(
      {
        method: "get",
        path: "/ui/{assistant_id}/{file}",
        operationId: "getUiFile",
        summary: "Script or style of an assistant's components",
        tag,
        access: viewer,
        guard: asksNothing,
        params: params.extend({ file: z.string().min(1) }),
        responses: {
          200: { description: "The file.", contentType: "text/javascript" },
          304: { description: "Not modified." },
        },
        errors: [404, 409],
      },
      async ({ caller, params: { assistant_id, file }, request }) => {
        const { bundles, name } = await findUi(options, caller, assistant_id);
        const { script, style } = await bundles.get(name);
        const found = [script, style].find((each) => each?.name === file);
        if (!found) throw notFound(`There is no file "${file}" of the components of "${name}".`);
        const headers = { etag: found.etag, "cache-control": "private, no-cache" };
        if (request.headers.get("if-none-match") === found.etag) {
          return new Response(null, { status: 304, headers });
        }
        return new Response(found.text, { headers: { ...headers, "content-type": found.contentType } });
      },
    ),
  ];
}

/** A name of the project file as it stands, else that of the assistant's graph. */
async function findUi(
  { bundles, graphOf }: UiRoutesOptions,
  caller: Caller,
  id: string,
): Promise<{ bundles: UiBundles; name: string }> {
  if (bundles?.has(id)) return { bundles, name: id };
  const name = await graphOf(caller, id);
  if (bundles?.has(name)) return { bundles, name };
  throw notFound(`There are no components for "${id}". Name its graph under "ui" in the project file.`);
}

function notFound(message: string): AppError {
  return new AppError({ code: "ui.not_found", kind: "not_found", message });
}
