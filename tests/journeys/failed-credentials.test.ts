import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { waitUntil } from "../support/components/wait-until.ts";

let app: TestApp;
let url: string;
beforeAll(async () => {
  app = await createTestApp({ failedCredentialsPerMinute: 20 });
  url = await app.listen();
});
afterAll(() => app?.stop());

const ask = (path: string, headers: Record<string, string>) => fetch(`${url}${path}`, { headers });

it("tries at keys are answered 429 after twenty, by whatever door, and who has a good one is not locked out", async () => {
  expect((await ask("/v2/auth/providers", { "x-api-key": app.apiKey })).status).toBe(200);
  const wrong = (at: number) => ({ "x-api-key": `wrong-key-number-${at}` });
  const first = await Promise.all(
    Array.from({ length: 20 }, (_, at) => ask("/v2/auth/providers", wrong(at))),
  );
  expect(new Set(first.map(({ status }) => status))).toEqual(new Set([401]));
  for (const path of ["/v2/auth/providers", "/api/v1/sessions", "/assistants/agent", "/api/threads"]) {
    const refused = await ask(path, wrong(99));
    expect([path, refused.status]).toEqual([path, 429]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toEqual({ detail: expect.stringContaining("Too many credentials") });
  }
  expect((await ask("/v2/auth/providers", { "x-api-key": app.apiKey })).status).toBe(200);
  expect((await ask("/api/threads", {})).status).toBe(200);
  const elsewhere = { ...wrong(1), "x-forwarded-for": "198.51.100.7" };
  expect((await ask("/v2/auth/providers", elsewhere)).status).toBe(401);
});

it("the audit log has a few of those that were made to wait, and the count of the others", async () => {
  type Page = { resources: { status: number; actor: object; details: { more?: number } }[] };
  const from = "198.51.100.9";
  for (let at = 0; at < 40; at++) {
    await ask("/v2/auth/providers", { "x-api-key": `guess-number-${at}-at-a-key`, "x-forwarded-for": from });
  }
  const recorded = async () => {
    const { body } = await app.call<Page>("GET", "/v2/audit-events?action=request.refused&limit=200");
    return body.resources.filter((event) => (event as { address?: string }).address === from);
  };
  // Nobody waits for the rows of refusals.
  await waitUntil(async () => (await recorded()).length >= 10, { what: "the rows", timeoutMs: 20_000 });
  const rows = await recorded();
  expect(rows.filter(({ status }) => status === 429)).toHaveLength(5);
  expect(rows.filter(({ status }) => status === 401)).toHaveLength(5);
  expect(rows).toMatchObject(
    rows.map(({ status }) => ({
      outcome: "refused",
      error_code: status === 429 ? "request.too_many_failed_credentials" : "auth.bad_credential",
      actor: { kind: "anonymous" },
    })),
  );
});
