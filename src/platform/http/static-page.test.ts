import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createLogger } from "../logger.ts";
import { Metrics } from "../metrics.ts";
import { createHttpApp, type HttpApp } from "./pipeline/http-app.ts";
import { staticPageRoutes } from "./static-page.ts";

const script = `${"export const thread = 'over and under';\n".repeat(100)}`;
let folder: Awaited<ReturnType<typeof createTempFolder>>;
let app: HttpApp;

beforeAll(async () => {
  folder = await createTempFolder("static-page");
  await mkdir(join(folder.path, "assets"));
  await writeFile(join(folder.path, "index.html"), "<!doctype html><title>Loom</title>");
  await writeFile(join(folder.path, "assets", "loom-1a2b.js"), script);
  await writeFile(join(folder.path, "assets", "tiny-1a2b.css"), "a{}");
  app = serve(folder.path);
});
afterAll(() => folder?.remove());

function serve(from: string): HttpApp {
  return createHttpApp({
    routes: staticPageRoutes({
      folder: from,
      name: "The loom",
      tag: "Pages",
      operationId: "loomPage",
      paths: ["/", "/looms/{rest*}"],
      assets: "/loom/assets",
      unbuiltNote: "",
    }),
    authenticator: {
      authenticate: async () => null,
      loopbackCaller: () => Promise.reject(new Error("nobody is asked for")),
    },
    agentAuthRequired: true,
    logger: createLogger({ level: "silent" }),
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: true,
  });
}

const get = async (path: string, headers: Record<string, string> = {}) =>
  app.fetch(new Request(`http://127.0.0.1${path}`, { headers }));

describe("200", () => {
  it("the page at every path it names, asked for anew each time, under a strict policy", async () => {
    for (const path of ["/", "/looms", "/looms/one/threads/two"]) {
      const answer = await get(path);
      expect([answer.status, await answer.text()]).toEqual([200, "<!doctype html><title>Loom</title>"]);
      expect(answer.headers.get("cache-control")).toBe("no-cache");
      expect(answer.headers.get("content-security-policy")).toContain("script-src 'self'");
    }
  });

  it.each([
    ["gzip, deflate, br, zstd", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip;q=0.8", "gzip"],
    ["identity", null],
  ])(
    "a file for Accept-Encoding %s is packed as %s, the first time and the next",
    async (accepted, encoding) => {
      for (const _time of ["first", "next"]) {
        const answer = await get("/loom/assets/loom-1a2b.js", { "accept-encoding": accepted });
        expect(answer.headers.get("content-encoding")).toBe(encoding);
        expect(answer.headers.get("cache-control")).toContain("immutable");
        expect(answer.headers.get("vary")).toContain("accept-encoding");
        const body = Buffer.from(await answer.arrayBuffer());
        const plain =
          encoding === "br" ? brotliDecompressSync(body) : encoding === "gzip" ? gunzipSync(body) : body;
        expect(plain.toString()).toBe(script);
      }
    },
  );

  it("a file too small to gain by it stays as it is", async () => {
    const answer = await get("/loom/assets/tiny-1a2b.css", { "accept-encoding": "br" });
    expect([answer.headers.get("content-encoding"), await answer.text()]).toEqual([null, "a{}"]);
  });

  it("how to build it, when nobody has", async () => {
    const answer = await serve("/nonexistent").fetch(new Request("http://127.0.0.1/"));
    expect(await answer.text()).toContain("npm run build:web");
  });
});

describe("404 and 422", () => {
  it("a file that is not there, and a name that leads elsewhere", async () => {
    expect((await get("/loom/assets/other.js")).status).toBe(404);
    expect((await get("/loom/assets/..%2findex.html")).status).toBe(422);
    expect((await get("/loom/assets/.hidden")).status).toBe(422);
  });
});
