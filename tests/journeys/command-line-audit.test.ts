import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createClient, type TreadleClient } from "../support/treadle-client.ts";

type AuditEvent = { id: string; action: string; outcome: string; target: { name: string | null } | null };

let app: TestApp;
let folder: TempFolder;
let client: TreadleClient;

beforeAll(async () => {
  app = await createTestApp();
  folder = await createTempFolder("command-line-audit");
  const url = await app.listen();
  client = createClient(folder.path, { TREADLE_URL: url, TREADLE_API_KEY: app.apiKey });
});
afterAll(async () => {
  await app?.stop();
  await folder?.remove();
});

async function makeKey(body: Record<string, unknown>): Promise<string> {
  const answer = await app.call<{ key: string }>("POST", "/v2/api-keys", { body });
  expect(answer.status).toBe(201);
  return answer.body.key;
}

test("shows who did what to what, newest first, and narrows it down", { timeout: 90_000 }, async () => {
  for (const name of ["first", "second", "third"]) await makeKey({ name });
  const { code, stdout } = await client.run(["audit", "--action", "api_key.created"]);
  expect(code).toBe(0);
  const [head, ...lines] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/^WHEN +WHAT +OUTCOME +WHO +WITH +FROM +TO WHAT$/);
  expect(lines.map((line) => line.trim().split(/ {2,}/).at(-1))).toEqual([
    "api_key third",
    "api_key second",
    "api_key first",
  ]);
  expect(lines[0]).toMatch(/api_key\.created +done +\S+@\S+/);

  const two = await client.json<AuditEvent[]>(["audit", "--limit", "2", "--since", "1h"]);
  expect(two.map(({ target }) => target?.name)).toEqual(["third", "second"]);
  const none = await client.run(["audit", "--action", "member.removed"]);
  expect(none).toMatchObject({ code: 0, stdout: "No matching entries.\n" });
});

test("more than a page is read page by page, each event once", { timeout: 90_000 }, async () => {
  for (let index = 0; index < 205; index++) await makeKey({ name: `many ${index}` });
  const found = await client.json<AuditEvent[]>(["audit", "--limit", "203"]);
  expect(new Set(found.map(({ id }) => id)).size).toBe(203);
  expect(found[0]?.target?.name).toBe("many 204");
});

test("is for admins, and a wrong action is named with those there are", { timeout: 90_000 }, async () => {
  const editor = await makeKey({ name: "editor", role: "editor" });
  const refused = await client.run(["audit"], { env: { TREADLE_API_KEY: editor } });
  expect(refused).toMatchObject({ code: 13, stderr: expect.stringContaining("needs the role admin") });
  const wrong = await client.run(["audit", "--action", "key.made"]);
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toContain("api_key.created");
});
