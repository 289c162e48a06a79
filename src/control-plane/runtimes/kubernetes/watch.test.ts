import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { openApiServer, sendJson } from "../../../../tests/support/kubernetes/api-server.ts";
import { errorMessage } from "../../../platform/errors.ts";
import { backoffMs, type Seen, watchObjects } from "./watch.ts";

const { server, api } = await openApiServer();
const path = "/api/v1/namespaces/agents/pods";

type Pod = { phase?: string };
const pod = (name: string, resourceVersion: string) => ({ metadata: { name, resourceVersion } });
const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;

/** Lists answer one pod; the n-th watch is answered by the n-th step, the last one stays open. */
function answerWith(...steps: ((response: ServerResponse) => void)[]): void {
  let watches = 0;
  let lists = 0;
  server.answer(({ query }, response) => {
    if (query.get("watch") !== "true") {
      lists += 1;
      const version = String(lists * 100);
      return sendJson(response, { metadata: { resourceVersion: version }, items: [pod("listed", version)] });
    }
    const step = steps[watches];
    watches += 1;
    if (step) step(response);
    else response.writeHead(200).flushHeaders();
  });
}

const versions = () =>
  server.asked.filter(({ query }) => query.get("watch")).map(({ query }) => query.get("resourceVersion"));
const lists = () => server.asked.filter(({ query }) => query.get("watch") !== "true").length;

/** What a watch says until `count` words have come, in short. */
async function read(count: number, more: { silenceMs?: number } = {}) {
  const stop = new AbortController();
  const troubles: string[] = [];
  const said: string[] = [];
  const options = { path, labelSelector: "treadle.dev/instance", firstBackoffMs: 1, ...more };
  const onTrouble = (error: unknown) => troubles.push(errorMessage(error));
  for await (const seen of watchObjects<Pod>(api, { ...options, onTrouble }, stop.signal)) {
    said.push(shortly(seen));
    if (said.length === count) break;
  }
  stop.abort();
  return { said, troubles };
}

function shortly(seen: Seen<Pod>): string {
  return seen.kind === "all"
    ? `all ${seen.objects.map(({ metadata }) => metadata.name).join(" ")}`
    : `${seen.kind} ${seen.object.metadata.name}`;
}

describe("a watch of the Kubernetes API", () => {
  it("lists, then tells what changes and what goes", async () => {
    answerWith((response) => {
      response.write(line("ADDED", pod("one", "101")));
      response.write(line("MODIFIED", pod("one", "102")));
      response.write(line("DELETED", pod("one", "103")));
    });
    const { said, troubles } = await read(4);
    expect(said).toEqual(["all listed", "changed one", "changed one", "removed one"]);
    expect(troubles).toEqual([]);
    const { query } = server.asked[1]!;
    expect(query.get("allowWatchBookmarks")).toBe("true");
    expect(Number(query.get("timeoutSeconds"))).toBeGreaterThanOrEqual(216);
    expect(Number(query.get("timeoutSeconds"))).toBeLessThanOrEqual(264);
  });

  it("goes on from the last bookmark after the connection broke in the middle of an event", async () => {
    answerWith(
      (response) => {
        response.write(line("BOOKMARK", pod("", "150")));
        response.write(line("MODIFIED", pod("half", "151")).slice(0, 20), () => response.destroy());
      },
      (response) => response.write(line("MODIFIED", pod("half", "151"))),
    );
    const { said, troubles } = await read(2);
    expect(said).toEqual(["all listed", "changed half"]);
    expect(versions()).toEqual(["100", "150"]);
    expect(troubles).toHaveLength(1);
  });

  it.each(["as an answer", "as an event"])("lists again when its version is too old (%s)", async (how) => {
    const expired = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
    answerWith(
      (response) =>
        how === "as an event" ? response.end(line("ERROR", expired)) : sendJson(response, expired, 410),
      (response) => response.write(line("ADDED", pod("new", "201"))),
    );
    const { said, troubles } = await read(3);
    expect(said).toEqual(["all listed", "all listed", "changed new"]);
    expect(lists()).toBe(2);
    expect(versions()).toEqual(["100", "200"]);
    expect(troubles).toEqual([]);
  });

  it("takes a connection that is silent for dead, and says nothing is gone", async () => {
    answerWith(
      (response) => response.writeHead(200).flushHeaders(),
      (response) => response.write(line("MODIFIED", pod("listed", "101"))),
    );
    const { said, troubles } = await read(2, { silenceMs: 50 });
    expect(said).toEqual(["all listed", "changed listed"]);
    expect(versions()).toEqual(["100", "100"]);
    expect(troubles[0]).toContain("silent");
  });

  it("tries again, at growing intervals, while the server refuses", async () => {
    const refuse = (response: ServerResponse) => sendJson(response, { message: "no leader", code: 503 }, 503);
    answerWith(refuse, refuse, (response) => response.write(line("ADDED", pod("one", "301"))));
    const { said, troubles } = await read(4);
    expect(said).toEqual(["all listed", "all listed", "all listed", "changed one"]);
    expect(troubles.map((text) => text.replace(/.*: /, ""))).toEqual(["no leader", "no leader"]);
    expect(backoffMs(1, 500)).toBeLessThanOrEqual(500);
    expect(backoffMs(100, 500)).toBeGreaterThanOrEqual(24_000);
    expect(backoffMs(100, 500)).toBeLessThanOrEqual(30_000);
  });

  it("does not run in circles when watches end at once", async () => {
    answerWith(
      (response) => response.writeHead(200).end(),
      (response) => response.write(line("ADDED", pod("one", "101"))),
    );
    const { said, troubles } = await read(2);
    expect(said).toEqual(["all listed", "changed one"]);
    expect(troubles).toEqual(["the watch ended as soon as it began"]);
  });

  it("ends when nobody wants it any more", async () => {
    answerWith();
    const stop = new AbortController();
    const options = { path, labelSelector: "", onTrouble: () => {} };
    const watch = watchObjects<Pod>(api, options, stop.signal);
    expect((await watch.next()).value?.kind).toBe("all");
    const next = watch.next();
    stop.abort();
    expect((await next).done).toBe(true);
  });
});
