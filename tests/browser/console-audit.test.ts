import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let running: RunningConsole;

beforeAll(async () => {
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

async function makeKey(body: Record<string, unknown>): Promise<string> {
  const answer = await running.app.call<{ key: string }>("POST", "/v2/api-keys", { body });
  expect(answer.status).toBe(201);
  return answer.body.key;
}

it("tells who did what to what, and is narrowed down in the address", async () => {
  await makeKey({ name: "for the build", role: "editor" });
  await running.app.call("GET", "/v2/members", { headers: { "x-api-key": "tk_nobodys_key_nobodys_key" } });
  const page = await running.open("/settings");
  await page.link("Audit").click();
  const table = page.page.getByRole("table", { name: "Audit log" });
  const made = table.getByRole("row", { name: /Created an API key/ });
  await made.getByText("for the build").waitFor();
  await made.getByText("role: editor").waitFor();
  await made.getByText("with the key").waitFor();
  await table
    .getByRole("row", { name: /Signed in/ })
    .getByText("127.0.0.1")
    .waitFor();
  expect(await page.violations()).toEqual([]);

  await page.field("Outcome").selectOption("refused");
  await table.getByRole("row", { name: /Was refused Somebody unknown/ }).waitFor();
  await made.waitFor({ state: "detached" });
  expect(page.path).toBe("/settings?tab=audit&outcome=refused");
  await page.page.reload();
  await table.getByText("auth.bad_credential").waitFor();
  expect(await table.getByRole("row").count()).toBe(2);

  await page.field("What").selectOption("member.removed");
  await page.text("Nothing like that was recorded").waitFor();
  expect(page.errors).toEqual([]);
});

it("leads through more than a page, and is saved as JSON lines", async () => {
  for (let index = 0; index < 60; index++) await makeKey({ name: `key ${index}` });
  const page = await running.open("/settings?tab=audit&action=api_key.created");
  const rows = page.page.getByRole("table", { name: "Audit log" }).getByRole("row");
  await rows.nth(50).waitFor();
  expect(await rows.count()).toBe(51);
  await page.button("Show more").click();
  await rows.filter({ hasText: "for the build" }).waitFor();

  const saving = page.page.waitForEvent("download");
  await page.button("Export as JSON lines").click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toBe("audit-events.jsonl");
  const lines = (await readFile(await saved.path(), "utf8")).trimEnd().split("\n");
  expect(lines).toHaveLength((await rows.count()) - 1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ action: "api_key.created", target: { name: "key 59" } });
  expect(page.errors).toEqual([]);
});

it("says to others than admins that it is for admins", async () => {
  const apiKey = await makeKey({ name: "an editor's", role: "editor" });
  const page = await running.open("/settings?tab=audit", { apiKey });
  await page.text("The audit log is for admins").waitFor();
  expect(await page.page.getByRole("table").count()).toBe(0);
  expect(await page.violations()).toEqual([]);
});

it("fits a phone", async () => {
  const page = await running.open("/settings?tab=audit", { viewport: phone });
  await page.page
    .getByRole("row", { name: /Signed in/ })
    .first()
    .waitFor();
  expect(await page.overflowing()).toEqual([]);
  expect(await page.violations()).toEqual([]);
});
