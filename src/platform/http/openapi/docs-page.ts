import { escapeHtml } from "../escape-html.ts";
import { type Route, route } from "../route.ts";
import { docsScript } from "./docs-script.ts";
import { docsStyle } from "./docs-style.ts";
import type { ApiDocument } from "./openapi.ts";

/** A browsable page of the documents at /docs. Everything comes from this server, so it works offline. */
export function docsRoutes(documents: ApiDocument[]): Route[] {
  if (documents.length === 0) return [];
  const list = documents.map(({ title, path, version }) => ({ title, path, version }));
  return [
    asset("/docs", "text/html; charset=utf-8", page(list)),
    asset("/docs/docs.js", "text/javascript; charset=utf-8", docsScript),
    asset("/docs/docs.css", "text/css; charset=utf-8", docsStyle),
  ];
}

function asset(path: `/${string}`, contentType: string, text: string): Route {
  return route(
    {
      method: "get",
      path,
      operationId: `docs ${path}`,
      summary: "The documentation page",
      tag: "system",
      access: { kind: "open" },
      responses: { 200: { description: "The page", contentType } },
      hidden: true,
    },
    () => new Response(text, { headers: { "content-type": contentType, "cache-control": "no-cache" } }),
  );
}

function page(documents: { title: string; path: string; version: string }[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(documents[0]!.title)}</title>
<link rel="stylesheet" href="/docs/docs.css">
<link rel="icon" href="data:,">
</head>
<body data-documents="${escapeHtml(JSON.stringify(documents))}">
<noscript>This page needs JavaScript. The documents themselves: ${documents
    .map(({ path }) => `<a href="${escapeHtml(path)}">${escapeHtml(path)}</a>`)
    .join(" ")}</noscript>
<script src="/docs/docs.js" defer></script>
</body>
</html>
`;
}
