import { pagePolicy } from "../platform/http/access/security-headers.ts";
import type { Route } from "../platform/http/route.ts";
import { staticPageRoutes } from "../platform/http/static-page.ts";

/**
 * One page for both: at `/chat` it talks to agent servers, at `/chat/example` to this application. It alone may send
 * requests to other hosts, because people may add any agent server by its address.
 */
export function pageRoutes(folder: string): Route[] {
  return staticPageRoutes({
    folder,
    name: "The chat page",
    tag: "Chat application",
    operationId: "chatPage",
    paths: ["/chat", "/chat/example"],
    assets: "/chat/assets",
    policy: `${pagePolicy}; connect-src 'self' https: http:`,
    unbuiltNote: "The endpoints under <code>/threads</code> and <code>/api/threads</code> work without it.",
  });
}
