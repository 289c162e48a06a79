import { describe, expect, it } from "vitest";
import { openApiServer, sendJson } from "../../../../tests/support/kubernetes/api-server.ts";
import { AppError } from "../../../platform/errors.ts";
import { KubernetesApi } from "./api.ts";
import { KubernetesRefusal } from "./refusal.ts";

const { server, api } = await openApiServer({ token: "a-token" });
const pods = "/api/v1/namespaces/agents/pods";

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => {
      throw new Error("it was not refused");
    },
    (error: unknown) => error as KubernetesRefusal,
  );

describe("calls of the Kubernetes API", () => {
  it("show a certificate and a token", async () => {
    server.answer((_asked, response) => sendJson(response, { kind: "Pod" }));
    expect(await api.get(`${pods}/one`)).toEqual({ kind: "Pod" });
    expect(server.asked[0]).toMatchObject({ method: "GET", path: `${pods}/one` });
    expect(server.asked[0]?.headers.authorization).toBe("Bearer a-token");
  });

  it("refuse a server whose certificate another authority signed", async () => {
    const { authority: _unknown, ...rest } = server.keys;
    const stranger = new KubernetesApi({ server: server.url, namespace: "agents", ...rest });
    const error = await refusal(stranger.get(pods));
    expect(error).toMatchObject({ code: "runtime.kubernetes_unreachable", retryable: true });
    stranger.close();
  });

  it("know what is not there", async () => {
    server.answer((_asked, response) => sendJson(response, { code: 404, reason: "NotFound" }, 404));
    expect(await api.get(`${pods}/one`)).toBeNull();
    expect(await api.remove(`${pods}/one`)).toBe(false);
    await expect(api.list(pods, "a=b")).rejects.toThrow("does not know /api/v1/namespaces/agents/pods");
  });

  it.each([
    [403, "Forbidden", "exceeded quota: small, requested: pods=1", false],
    [422, "Invalid", "spec.replicas: must be 0 or more", false],
    [429, "TooManyRequests", "come again", true],
    [503, "ServiceUnavailable", "etcd has no leader", true],
  ])("carry the words of a %i", async (code, reason, message, retryable) => {
    server.answer((_asked, response) => sendJson(response, { kind: "Status", code, reason, message }, code));
    const error = await refusal(api.apply(`${pods}/one`, {}, "treadle"));
    expect(error).toBeInstanceOf(KubernetesRefusal);
    expect(error).toMatchObject({ status: code, reason, words: message, retryable });
    expect(error.message).toBe(`Kubernetes refused PATCH ${pods}/one (${code}): ${message}`);
  });

  it("take the page of a proxy for a refusal", async () => {
    server.answer((_asked, response) => response.writeHead(502).end("<html>Bad Gateway</html>"));
    expect(await refusal(api.get(pods))).toMatchObject({ status: 502, retryable: true });
  });

  it("say when nobody listens", async () => {
    const nobody = new KubernetesApi({ server: "https://127.0.0.1:9", namespace: "agents" });
    const error = await refusal(nobody.get(pods));
    expect(error).toBeInstanceOf(AppError);
    expect(error.code).toBe("runtime.kubernetes_unreachable");
    expect(error.message).toContain("https://127.0.0.1:9 (ECONNREFUSED)");
  });

  it("read lists page by page", async () => {
    server.answer(({ query }, response) => {
      const isFirst = query.get("continue") === null;
      const metadata = isFirst ? { resourceVersion: "7", continue: "more" } : { resourceVersion: "7" };
      sendJson(response, { metadata, items: [{ metadata: { name: isFirst ? "one" : "two" } }] });
    });
    const { items, resourceVersion } = await api.list(pods, "treadle.dev/instance");
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["one", "two"]);
    expect(resourceVersion).toBe("7");
    expect(server.asked[1]?.query.get("labelSelector")).toBe("treadle.dev/instance");
  });

  it("apply under a manager's name, and delete only the object that is meant", async () => {
    server.answer((_asked, response) => sendJson(response, { metadata: { name: "one" } }));
    await api.apply(`${pods}/one`, { kind: "Pod" }, "treadle");
    expect(server.asked[0]).toMatchObject({ method: "PATCH", body: { kind: "Pod" } });
    expect(server.asked[0]?.headers["content-type"]).toBe("application/apply-patch+yaml");
    expect(server.asked[0]?.query.get("fieldManager")).toBe("treadle");
    expect(await api.remove(`${pods}/one`, { uid: "u-1", graceSeconds: 0 })).toBe(true);
    expect(server.asked[1]?.body).toMatchObject({ preconditions: { uid: "u-1" }, gracePeriodSeconds: 0 });
    const conflict = { code: 409, reason: "Conflict", message: "the UID in the precondition differs" };
    server.answer((_asked, response) => sendJson(response, conflict, 409));
    expect(await api.remove(`${pods}/one`, { uid: "u-1" })).toBe(false);
  });

  it("wait for none of the answers that last", async () => {
    server.answer(({ query }, response) => {
      if (query.has("follow")) response.writeHead(200).flushHeaders();
      else sendJson(response, { kind: "Pod" });
    });
    const query = { follow: "true" };
    const followed = Array.from({ length: 65 }, () =>
      api.open({ method: "GET", path: `${pods}/one/log`, query, lasting: true }),
    );
    const streams = await Promise.all(followed);
    expect(await api.get(`${pods}/one`)).toEqual({ kind: "Pod" });
    for (const stream of streams) stream.destroy();
  });

  it("end when the caller gives up", async () => {
    const given = new AbortController();
    server.answer(() => given.abort(new Error("given up")));
    await expect(api.get(pods, given.signal)).rejects.toThrow("given up");
  });
});
