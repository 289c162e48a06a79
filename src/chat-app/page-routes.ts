import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { z } from "zod";
import { AppError } from "../platform/errors.ts";
import { type Route, route } from "../platform/http/route.ts";

const tag = "Chat application";
const access = { kind: "open" } as const;

const contentTypes: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".map": "application/json",
};

/** The page and its files as Vite built them. The page holds no data; what it shows, it asks the endpoints for. */
export function pageRoutes(folder: string): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/chat",
        operationId: "chatPage",
        summary: "The chat page",
        tag,
        access,
        responses: { 200: { description: "The page.", contentType: "text/html" } },
        hidden: true,
      },
      async () => html((await readIfThere(join(folder, "index.html"))) ?? notBuilt),
    ),
    route(
      {
        method: "get",
        path: "/chat/assets/{file}",
        operationId: "chatPageFile",
        summary: "A file of the chat page",
        tag,
        access,
        // One plain name: nothing outside the folder can be asked for.
        params: z.object({ file: z.string().regex(/^[\w-]+(\.[\w-]+)+$/) }),
        responses: { 200: { description: "The file.", contentType: "application/octet-stream" } },
        errors: [404],
        hidden: true,
      },
      async ({ params: { file }, c }) => {
        const body = await readIfThere(join(folder, "assets", file));
        if (body === undefined) throw noFile(file);
        const packed = /\bgzip\b/.test(c.req.header("accept-encoding") ?? "");
        return new Response(packed ? await pack(body) : body, {
          headers: {
            "content-type": contentTypes[extname(file)] ?? "application/octet-stream",
            // The name changes with the content.
            "cache-control": "public, max-age=31536000, immutable",
            vary: "accept-encoding",
            ...(packed ? { "content-encoding": "gzip" } : {}),
          },
        });
      },
    ),
  ];
}

const pack = promisify(gzip);

function html(body: Uint8Array | string): Response {
  return new Response(body, {
    headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" },
  });
}

async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function noFile(file: string): AppError {
  return new AppError({
    code: "chat.no_such_file",
    kind: "not_found",
    message: `The chat page has no file ${file}. Reload the page: it may have been built again.`,
  });
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Chat: not built yet</title>
<link rel="icon" href="data:,">
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem;color-scheme:light dark}code{background:#8883;padding:.15em .4em;border-radius:.3em}</style>
<h1>The chat page is not built yet</h1>
<p>Run <code>npm run build:web</code> in the project folder, then reload. The endpoints under <code>/api/threads</code> work without it.</p>
</html>
`;
