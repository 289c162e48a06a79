import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { z } from "zod";
import { AppError } from "../errors.ts";
import { type Route, route } from "./route.ts";

export type StaticPageOptions = {
  /** Where Vite built it: `index.html` and `assets/`. */
  folder: string;
  /** What people call it, for messages. */
  name: string;
  tag: string;
  operationId: string;
  /** The paths that answer with the page; the page decides what to show at each. */
  paths: readonly `/${string}`[];
  /** The path of its files: `{assets}/{file}`. */
  assets: `/${string}`;
  /** What the page may do, where it is more than other pages may. */
  policy?: string;
  /** What to do if the page has not been built. */
  unbuiltNote: string;
};

const access = { kind: "open" } as const;
/** More than every page of the platform has, packed both ways. */
const cacheBytes = 16_000_000;
const smallestPacked = 512;

const contentTypes: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".map": "application/json",
};

/** A page and its files as Vite built them. The page holds no data; what it shows, it asks the endpoints for. */
export function staticPageRoutes(options: StaticPageOptions): Route[] {
  const { folder, tag, operationId } = options;
  const files = new PackedFiles(join(folder, "assets"));
  const pages = options.paths.map((path, index) =>
    route(
      {
        method: "get",
        path,
        operationId: index === 0 ? operationId : `${operationId}_${index}`,
        summary: `${options.name}: the page`,
        tag,
        access,
        responses: { 200: { description: "The page.", contentType: "text/html" } },
        hidden: true,
      },
      async () =>
        new Response((await readIfThere(join(folder, "index.html"))) ?? unbuilt(options), {
          headers: {
            "content-type": "text/html; charset=utf-8",
            "cache-control": "no-cache",
            ...(options.policy ? { "content-security-policy": options.policy } : {}),
          },
        }),
    ),
  );
  const asset = route(
    {
      method: "get",
      path: `${options.assets}/{file}`,
      operationId: `${operationId}File`,
      summary: `${options.name}: a file of the page`,
      tag,
      access,
      // One plain name: nothing outside the folder can be asked for.
      params: z.object({ file: z.string().regex(/^[\w-]+(\.[\w-]+)+$/) }),
      responses: { 200: { description: "The file.", contentType: "application/octet-stream" } },
      errors: [404],
      hidden: true,
    },
    async ({ params: { file }, request }) => {
      const found = await files.read(file, request.headers.get("accept-encoding") ?? "");
      if (!found) throw noFile(options.name, file);
      return new Response(found.body, {
        headers: {
          "content-type": contentTypes[extname(file)] ?? "application/octet-stream",
          // The name changes with the content.
          "cache-control": "public, max-age=31536000, immutable",
          vary: "accept-encoding",
          ...(found.encoding ? { "content-encoding": found.encoding } : {}),
        },
      });
    },
  );
  return [...pages, asset];
}

type Encoding = "br" | "gzip";
type Packed = { body: Uint8Array; encoding?: Encoding };

/** Packs each file once: the name changes with the content, so what was packed stays right. */
class PackedFiles {
  readonly #folder: string;
  readonly #kept = new Map<string, Packed>();
  #bytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(file: string, accepted: string): Promise<Packed | undefined> {
    const encoding = chooseEncoding(accepted);
    if (encoding === undefined) return plain(await readIfThere(join(this.#folder, file)));
    const key = `${encoding} ${file}`;
    const kept = this.#kept.get(key);
    if (kept) return kept;
    const body = await readIfThere(join(this.#folder, file));
    if (body === undefined || body.length < smallestPacked) return plain(body);
    const packed = { body: await pack[encoding](body), encoding };
    this.#keep(key, packed);
    return packed;
  }

  #keep(key: string, packed: Packed): void {
    if (this.#kept.has(key) || packed.body.length > cacheBytes) return;
    this.#kept.set(key, packed);
    this.#bytes += packed.body.length;
    for (const [oldest, { body }] of this.#kept) {
      if (this.#bytes <= cacheBytes) return;
      this.#kept.delete(oldest);
      this.#bytes -= body.length;
    }
  }
}

const toGzip = promisify(gzip);
const toBrotli = promisify(brotliCompress);
const pack: Record<Encoding, (body: Uint8Array) => Promise<Uint8Array>> = {
  gzip: (body) => toGzip(body, { level: 9 }),
  br: (body) => toBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
};

function chooseEncoding(accepted: string): Encoding | undefined {
  const wanted = accepted
    .split(",")
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
    .map((part) => part.split(";")[0]);
  if (wanted.includes("br")) return "br";
  return wanted.includes("gzip") ? "gzip" : undefined;
}

function plain(body: Uint8Array | undefined): Packed | undefined {
  return body === undefined ? undefined : { body };
}

async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function noFile(name: string, file: string): AppError {
  return new AppError({
    code: "page.no_such_file",
    kind: "not_found",
    message: `${name} has no file ${file}. Reload the page: it may have been built again.`,
  });
}

function unbuilt({ name, unbuiltNote }: StaticPageOptions): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name}: not built yet</title>
<link rel="icon" href="data:,">
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem;color-scheme:light dark}code{background:#8883;padding:.15em .4em;border-radius:.3em}</style>
<h1>${name} is not built yet</h1>
<p>Run <code>npm run build:web</code> in the project folder, then reload. ${unbuiltNote}</p>
</html>
`;
}
