import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";

/** Every field that takes an address, given one that looks right and cannot be parsed. */
let test: TestApp;
beforeAll(async () => {
  test = await createTestApp();
});
afterAll(() => test?.stop());

const bad = "https://storage.example.com:99999/path";
const destination = (config: object, more: object = {}) => ({
  display_name: "bucket",
  config: { bucket_name: "bucket", prefix: "p", ...config },
  credentials: { access_key_id: "a", secret_access_key: "b" },
  ...more,
});
const provider = (more: object) => ({
  provider_id: `p-${randomUUID()}`,
  name: "P",
  client_id: "c",
  auth_url: "https://provider.invalid/auth",
  token_url: "https://provider.invalid/token",
  ...more,
});
const deployment = (source_config: object) => ({
  name: `d-${randomUUID()}`,
  source: "github",
  source_config: { repo_url: "https://git.example.com/a/b.git", ...source_config },
  source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
});

it.each<[string, string, string, unknown, number]>([
  ["endpoint_url", "POST", "/api/v1/bulk-exports/destinations", destination({ endpoint_url: bad }), 422],
  ["auth_url", "POST", "/v2/auth/providers", provider({ auth_url: bad }), 422],
  ["token_url", "POST", "/v2/auth/providers", provider({ token_url: bad }), 422],
  ["revocation_url", "POST", "/v2/auth/providers", provider({ revocation_url: bad }), 422],
  ["issuer", "POST", "/v2/auth/providers", provider({ issuer: bad }), 422],
  ["redirect", "POST", "/v2/auth/providers", provider({ allowed_redirect_uris: [bad] }), 422],
  ["webhook of tokens", "PUT", "/v2/auth/webhook", { url: bad }, 422],
  ["webhook of a run", "POST", "/runs", { assistant_id: "echo", input: {}, webhook: bad }, 422],
  ["custom_url", "POST", "/v2/deployments", deployment({ custom_url: bad }), 422],
  ["repo_url", "POST", "/v2/deployments", deployment({ repo_url: bad }), 422],
  [
    "api_url of an integration",
    "POST",
    "/v1/integrations/github",
    { name: "i", host: "git.example.com", token: "t", api_url: bad },
    422,
  ],
  [
    "host of an integration",
    "POST",
    "/v1/integrations/github",
    { name: "i", host: "git.example.com:99999", token: "t" },
    422,
  ],
])(
  "%s with a port beyond 65535 is refused and not a failure of ours",
  async (_field, method, path, body, status) => {
    const answer = await test.call(method, path, { body });
    expect(answer).toMatchObject({ status });
  },
);

it("aws_role_arn is refused wherever it stands", async () => {
  const role = { aws_role_arn: "arn:aws:iam::123456789012:role/export" };
  for (const body of [destination(role), destination({}, role)]) {
    const answer = await test.call("POST", "/api/v1/bulk-exports/destinations", { body });
    expect(answer).toMatchObject({ status: 422 });
    expect(JSON.stringify(answer.body)).toContain("aws_role_arn");
  }
});
