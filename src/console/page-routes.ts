import type { Route } from "../platform/http/route.ts";
import { staticPageRoutes } from "../platform/http/static-page.ts";

/** Everything a person can have in the address bar; the rest of the host belongs to the endpoints. */
const paths = [
  "/",
  "/sign-in",
  // On the way to the pages of a deployment.
  "/open/{slug}",
  "/deployments/{rest*}",
  "/agents/{rest*}",
  "/traces/{rest*}",
  "/exports/{rest*}",
  "/connections/{rest*}",
  "/settings/{rest*}",
  // What the API answers as a run's `app_path`.
  "/o/{tenant_id}/projects/{rest*}",
] as const;

export function pageRoutes(folder: string): Route[] {
  return staticPageRoutes({
    folder,
    name: "The console",
    tag: "Console",
    operationId: "consolePage",
    paths,
    assets: "/console/assets",
    unbuiltNote: "Every endpoint works without it: see the <a href=/docs>reference</a>.",
  });
}
