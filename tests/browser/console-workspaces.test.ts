import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let running: RunningConsole;
beforeAll(async () => {
  running = await startConsole();
});
afterAll(() => running?.stop());

it("a link that the tracing SDK prints opens in the workspace it names, and search finds in it", async () => {
  const { body: workspace } = await running.app.call<{ id: string }>("POST", "/v2/workspaces", {
    body: { name: "Second" },
  });
  const tenant = workspace.id;
  const headers = { "x-tenant-id": tenant };
  const made = await running.app.call<{ id: string }>("POST", "/api/v1/datasets", {
    headers,
    body: { name: "of the second" },
  });
  const path = `/o/${tenant}/datasets/${made.body.id}`;
  const page = await running.open("/");
  const choice = page.page.getByRole("combobox", { name: "Workspace" });
  await choice.waitFor();
  expect(await choice.inputValue()).toBe(running.app.workspaceId);
  await page.visit(path);
  await page.heading("of the second").waitFor();
  expect(await choice.inputValue()).toBe(tenant);
  // Whoever chooses another one afterwards is there, and not led back.
  await choice.selectOption(running.app.workspaceId);
  await page.heading("Evaluation").waitFor();
  expect([await choice.inputValue(), page.path]).toEqual([running.app.workspaceId, "/datasets"]);

  await page.visit(path);
  await page.heading("of the second").waitFor();
  await page.page.keyboard.press("Control+k");
  await page.field("Name or id").fill("of the sec");
  await page.page.getByRole("option", { name: /dataset\s*of the second/ }).click();
  await vi.waitFor(() => expect(page.path).toBe(`/datasets/${made.body.id}`));
  await page.heading("of the second").waitFor();
  expect(page.errors).toEqual([]);
});
