import { randomUUID } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import { Header } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sourceBlobKey } from "../src/control-plane/builds/pods/build-pod.ts";
import type { BuildPodOrder } from "../src/control-plane/builds/pods/build-pods.ts";
import { maxBytes, PodBuildSite } from "./support/pod-build-site.ts";

let site: PodBuildSite;
beforeAll(async () => {
  site = await PodBuildSite.open();
});
afterAll(() => site?.close());

describe("a pod that is not ours", { timeout: 60_000 }, () => {
  const headersOf = ({ token }: BuildPodOrder) => ({ authorization: `Bearer ${token}` });

  it("gets nothing with another token, and nothing after its report", async () => {
    const { request } = await site.ask({ "install.js": "\n" });
    const statuses: number[] = [];
    const pods = site.pods(async (order, url) => {
      const get = async (path: string, headers: Record<string, string>) => {
        const answer = await fetch(`${url}${path}`, { headers });
        await answer.arrayBuffer();
        statuses.push(answer.status);
      };
      await get("", {});
      await get("/source", { authorization: "Bearer another" });
      await get("", headersOf(order));
      const body = JSON.stringify({ message: "mine\u0000", tool: null });
      const headers = { ...headersOf(order), "content-type": "application/json" };
      statuses.push((await fetch(`${url}/failure`, { method: "POST", headers, body })).status);
      await get("/source", headersOf(order));
    });
    await expect(site.openBuilder(pods).build(request)).rejects.toThrow("mine");
    expect(statuses).toEqual([404, 404, 200, 204, 404]);
  });

  it("opens its source once at a time", async () => {
    const { request } = await site.ask({ "install.js": "\n" });
    const statuses: number[] = [];
    const pods = site.pods(async (order, url) => {
      // More than a connection takes while nobody reads.
      const key = sourceBlobKey({ id: order.id, revision_id: order.revisionId });
      await site.blobs.put(key, Buffer.alloc(64 * 1024 * 1024));
      const get = async () => {
        const answer = await fetch(`${url}/source`, { headers: headersOf(order) });
        statuses.push(answer.status);
        return answer.body!;
      };
      const first = await get();
      await (await get()).cancel();
      await first.cancel();
      const again = async () => {
        await (await get()).cancel();
        return statuses.at(-1);
      };
      await expect.poll(again, { timeout: 10_000 }).toBe(200);
    });
    await expect(site.openBuilder(pods).build(request)).rejects.toThrow("ended without a result");
    expect(statuses.slice(0, 2)).toEqual([200, 429]);
  });

  it("stores no more of its log than a build may, and no line that is many", async () => {
    const { request, log } = await site.ask({ "install.js": "\n" });
    const statuses: number[] = [];
    const pods = site.pods(async (order, url) => {
      const post = async (path: string, body: object) => {
        const headers = { ...headersOf(order), "content-type": "application/json" };
        const sent = { method: "POST", headers, body: JSON.stringify(body) };
        const answer = await fetch(`${url}/${path}`, sent);
        await answer.arrayBuffer();
        statuses.push(answer.status);
      };
      const lines = (count: number, text: string) => ({
        lines: Array.from({ length: count }, () => ({ text, origin: "project" })),
      });
      await post("lines", lines(1, "a\nb"));
      await post("failure", { message: "no", tool: { output: ["a\nb"], reason: null } });
      for (let sent = 0; sent < 4; sent += 1) await post("lines", lines(400, "x"));
      await post("lines", lines(1, "x"));
    });
    await expect(site.openBuilder(pods).build(request)).rejects.toThrow("ended without a result");
    expect(statuses).toEqual([422, 422, 204, 204, 413, 413, 413]);
    const stored = await log();
    expect(stored).toHaveLength(801);
    expect(stored.at(-1)!.message).toMatch(/^The log of this build is full: 1000 lines/);
  });

  it("stores a batch of lines once, however often and late it arrives", async () => {
    const { request, log } = await site.ask({ "install.js": "\n" });
    const statuses: number[] = [];
    const pods = site.pods(async (order, url) => {
      const headers = { ...headersOf(order), "content-type": "application/json" };
      const send = async (text: string, batch?: { sender: string; number: number }) => {
        const body = JSON.stringify({ batch, lines: [{ text, origin: "project" }] });
        statuses.push((await fetch(`${url}/lines`, { method: "POST", headers, body })).status);
      };
      const [sender, restarted] = [randomUUID(), randomUUID()];
      await send("first", { sender, number: 1 });
      await Promise.all([1, 2, 3].map(() => send("second", { sender, number: 2 })));
      await send("first", { sender, number: 1 });
      await send("after a restart", { sender: restarted, number: 1 });
      await send("of an older version");
      await send("of an older version");
      await send("beyond every number", { sender, number: 2 ** 31 });
    });
    await expect(site.openBuilder(pods).build(request)).rejects.toThrow("ended without a result");
    expect(statuses).toEqual([204, 204, 204, 204, 204, 204, 204, 204, 422]);
    const stored = (await log()).map(({ message }) => message);
    expect(stored).toEqual([
      "first",
      "second",
      "after a restart",
      "of an older version",
      "of an older version",
    ]);
  });

  it("is asked to wait with its result while another is stored", async () => {
    const { request, revisionId } = await site.ask({ "install.js": "\n" });
    const statuses: number[] = [];
    const pods = site.pods(async (order, url) => {
      const put = async (body: string | ReadableStream<Uint8Array>) => {
        const sent = { method: "PUT", headers: headersOf(order), body, duplex: "half" as const };
        statuses.push((await fetch(`${url}/artifact`, sent)).status);
      };
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      const first = put(readable);
      await writer.write(new Uint8Array([1]));
      await expect.poll(() => site.unclaimed(revisionId), { timeout: 10_000 }).toHaveLength(1);
      await put("another");
      await writer.close();
      await first;
    });
    await expect(site.openBuilder(pods).build(request)).rejects.toThrow();
    expect(statuses).toEqual([429, 204]);
  });

  it("hands in a result after it has failed: nothing of that is kept", async () => {
    const { request, revisionId } = await site.ask({ "install.js": "\n" });
    let kept: string[] = [];
    const pods = site.pods(async (order, url) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const sent = { method: "PUT", headers: headersOf(order), body: readable, duplex: "half" as const };
      const result = fetch(`${url}/artifact`, sent);
      const writer = writable.getWriter();
      await writer.write(new Uint8Array([1]));
      await expect.poll(() => site.unclaimed(revisionId), { timeout: 10_000 }).toHaveLength(1);
      const headers = { ...headersOf(order), "content-type": "application/json" };
      const body = JSON.stringify({ message: "mine", tool: null });
      expect((await fetch(`${url}/failure`, { method: "POST", headers, body })).status).toBe(204);
      await writer.close();
      expect((await result).status).toBe(404);
      kept = await site.stored(revisionId);
    });
    await expect(site.openBuilder(pods).build(request)).rejects.toThrow("mine");
    expect(kept).toEqual([expect.stringContaining("-source.")]);
    expect(await site.unclaimed(revisionId)).toEqual([]);
  });

  const upload = (body: Buffer) => async (order: BuildPodOrder, url: string) => {
    const sent = { method: "PUT", headers: headersOf(order), body: new Uint8Array(body) };
    expect((await fetch(`${url}/artifact`, sent)).status).toBe(204);
  };
  const tarOf = (entries: { path: string; content: string }[]) =>
    zstdCompressSync(
      Buffer.concat([
        ...entries.map(({ path, content }) => {
          const block = Buffer.alloc(512 + Math.ceil(content.length / 512) * 512);
          new Header({ path, size: content.length, type: "File", mode: 0o644 }).encode(block, 0);
          block.write(content, 512);
          return block;
        }),
        Buffer.alloc(1024),
      ]),
    );

  it.each([
    [
      "leads out of its folder",
      tarOf([{ path: "../../outside", content: "x" }]),
      /entry that leads out of its folder/,
    ],
    [
      "lacks what the project names",
      tarOf([{ path: "langgraph.json", content: "{}" }]),
      /names files that do not exist: \.?\/?graph\.js/,
    ],
    [
      "is too large",
      tarOf([{ path: "graph.js", content: "x".repeat(maxBytes + 1) }]),
      /larger than the limit of 2 MB/,
    ],
  ])("hands in an archive that %s: it is refused", async (_what, body, words) => {
    const { request } = await site.ask({ "install.js": "\n" });
    await expect(site.openBuilder(site.pods(upload(body))).build(request)).rejects.toThrow(words);
  });
});
