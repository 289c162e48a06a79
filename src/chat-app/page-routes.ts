import type { Route } from "../platform/http/route.ts";
import { staticPageRoutes } from "../platform/http/static-page.ts";

export function pageRoutes(folder: string): Route[] {
  return staticPageRoutes({
    folder,
    name: "The chat page",
    tag: "Chat application",
    operationId: "chatPage",
    paths: ["/chat"],
    assets: "/chat/assets",
    unbuiltNote: "The endpoints under <code>/api/threads</code> work without it.",
  });
}
