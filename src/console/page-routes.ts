import { readFile } from "node:fs/promises";
import { join } from "node:path";
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
  "/datasets/{rest*}",
  "/queues/{rest*}",
  "/exports/{rest*}",
  "/alerts/{rest*}",
  "/connections/{rest*}",
  "/settings/{rest*}",
  // What the API answers as a run's `app_path`.
  "/o/{tenant_id}/projects/{rest*}",
  // What the tracing SDK prints for datasets and experiments.
  "/o/{tenant_id}/datasets/{rest*}",
] as const;

const assets = "/console/assets";

/** The console again, with status 404: it shows that the page does not exist. */
export async function nowherePage(folder: string): Promise<Response> {
  const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" };
  const page = await readFile(join(folder, "index.html")).catch(() => unbuiltPage);
  return new Response(page, { status: 404, headers });
}

const unbuiltPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Not found</title>
<h1>There is no such page</h1><p><a href="/docs">The reference</a> lists the endpoints.</p></html>
`;

export function pageRoutes(folder: string): Route[] {
  return staticPageRoutes({
    folder,
    name: "The console",
    tag: "Console",
    operationId: "consolePage",
    paths,
    assets,
    unbuiltNote: "Every endpoint works without it: see the <a href=/docs>reference</a>.",
  });
}
