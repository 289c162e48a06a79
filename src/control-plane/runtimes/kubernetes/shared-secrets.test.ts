import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { openApiServer, sendJson } from "../../../../tests/support/kubernetes/api-server.ts";
import { requireSharedSecrets } from "./shared-secrets.ts";

const { server, api } = await openApiServer();

const workspaceId = randomUUID();
const secretReferences = [
  { name: "A", secret_name: "keys", secret_key: "openai" },
  { name: "B", secret_name: "keys", secret_key: "anthropic" },
];
const start = () => requireSharedSecrets(api, "agents", { workspaceId, secretReferences });
const answerWith = (labels: object | undefined) =>
  server.answer((_asked, response) => sendJson(response, { metadata: { name: "keys", labels } }));
const own = { "treadle.dev/shared-with": workspaceId };

async function refusalOf(labels: object | undefined | "absent"): Promise<Error> {
  if (labels === "absent") server.answer((_asked, response) => sendJson(response, {}, 404));
  else answerWith(labels);
  return await start().then(
    () => expect.unreachable(),
    (error: Error) => error,
  );
}

describe("a Secret that a server names", () => {
  it("is for the workspace it is shared with; its content is not read, and nothing is changed", async () => {
    answerWith(own);
    await start();
    expect(server.asked).toHaveLength(1);
    const [{ method, path, query, body, headers }] = server.asked as [(typeof server.asked)[number]];
    expect({ method, path, body }).toEqual({
      ...{ method: "PATCH", path: "/api/v1/namespaces/agents/secrets/keys", body: {} },
    });
    expect(query.get("dryRun")).toBe("All");
    expect(headers.accept).toContain("as=PartialObjectMetadata");
  });

  it.each([
    ["the platform's own, which has no such label", { "app.kubernetes.io/name": "treadle" }],
    ["one without labels", undefined],
    ["one that is shared with another workspace", { "treadle.dev/shared-with": randomUUID() }],
    ["one whose label has no value", { "treadle.dev/shared-with": "" }],
    [
      "the environment of another server of the same workspace",
      { "treadle.dev/workspace": workspaceId, "treadle.dev/installation": "treadle" },
    ],
    ["what Treadle made, with whatever labels", { ...own, "treadle.dev/installation": "other" }],
  ])("is refused: %s, in the words of one that is not there", async (_what, labels) => {
    const refusal = await refusalOf(labels);
    expect(refusal).toMatchObject({ code: "runtime.secret_missing", retryable: false });
    expect(refusal.message).toBe((await refusalOf("absent")).message);
  });

  it("is named with its namespace, its keys and how to make it", async () => {
    const { message } = await refusalOf("absent");
    expect(message).toContain("The namespace agents has no Secret keys that is shared with this workspace");
    expect(message).toContain(
      "kubectl --namespace agents create secret generic keys --from-literal=openai=VALUE --from-literal=anthropic=VALUE",
    );
    expect(message).toContain(
      `kubectl --namespace agents label secret keys treadle.dev/shared-with=${workspaceId}`,
    );
  });
});
