import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from "vitest";
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
  await page.text("No matching entries").waitFor();
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

it("makes an alert with a form, tests, mutes, changes and deletes it, and records all of it", async () => {
  const received: string[] = [];
  const hook = createServer((request, response) => {
    received.push(String(request.headers["x-treadle-event-id"]));
    request.resume().on("end", () => response.end());
  });
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    hook.close();
  });
  const address = `http://127.0.0.1:${(hook.address() as AddressInfo).port}`;
  const page = await running.open("/alerts");
  await page.text("Nothing is watched yet").waitFor();
  expect(await page.violations()).toEqual([]);
  await page.link("New alert").first().click();
  await page.heading("New alert").waitFor();
  await page.button("Create the alert").click();
  await page.text("Give the alert a name.").waitFor();
  await page.text("somebody must be notified").waitFor();
  expect(await page.violations()).toEqual([]);
  await page.field("Name").fill("Too many errors");
  await page.field("Watches").selectOption("project");
  await page.field("Project").waitFor();
  await page.field("Watches").selectOption("workspace");
  await page.field(/^Webhook/).fill(`${address}/a-secret-path`);
  await page.field(/^E-mail/).fill("on-call@example.com");
  await page.button("Create the alert").click();
  // What the server refuses is shown, and nothing typed is lost.
  await page.text("This server sends no e-mail").waitFor();
  await page.field(/^E-mail/).fill("");
  await page.button("Create the alert").click();
  await page.text("shown only now").waitFor();
  await page.link("Open the alert").click();
  await page.heading("Too many errors").waitFor();
  expect(await page.page.content()).not.toContain("a-secret-path");

  await page.button("Send a test").click();
  await page.text("The test has arrived everywhere.").waitFor();
  const history = page.page.getByRole("table", { name: "History" });
  await history.getByText(/127\.0\.0\.1:\d+: delivered/).waitFor();
  expect(received).toHaveLength(1);
  await page.button("Mute for an hour").click();
  await page.page.locator(".page-title .badge", { hasText: "Muted" }).waitFor();
  await page.button("End the mute").click();
  await page.button("Mute for an hour").waitFor();
  await page.link("Change").click();
  await page.field("Threshold").fill("25");
  await page.button("Save").click();
  await page.text("25 % of the runs fail in 15 min").waitFor();
  expect(await page.violations()).toEqual([]);
  await page.page.setViewportSize(phone);
  await page.settled();
  expect(await page.overflowing()).toEqual([]);
  await page.visit("/alerts");
  await page.page.getByRole("row", { name: /Too many errors/ }).waitFor();
  expect(await page.overflowing()).toEqual([]);
  await page.visit("/alerts/new");
  await page.heading("New alert").waitFor();
  expect(await page.overflowing()).toEqual([]);

  await page.page.setViewportSize({ width: 1280, height: 860 });
  await page.visit("/alerts");
  await page.link("Too many errors").click();
  await page.button("Delete…").click();
  await page.page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.text("Nothing is watched yet").waitFor();
  await page.visit("/settings?tab=audit");
  const log = page.page.getByRole("table", { name: "Audit log" });
  for (const words of ["Created an alert", "Sent a test of an alert", "Changed an alert", "Deleted an alert"])
    await log.getByText(words).first().waitFor();
  expect(page.errors).toEqual([]);
});
