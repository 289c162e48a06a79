import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { freePort } from "../support/components/free-port.ts";
import { phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let running: RunningConsole;
beforeAll(async () => {
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

it("a message that did not arrive is told with its reason, and with where to change that", async () => {
  const { body: alert } = await running.app.call<{ id: string }>("POST", "/v2/alerts", {
    body: {
      ...{ name: "runs fail", kind: "error_rate", scope: "workspace", window_minutes: 15, threshold: 10 },
      webhook_url: `http://127.0.0.1:${await freePort()}/hook`,
    },
  });
  const page = await running.open("/alerts", { viewport: phone });
  await page.link("runs fail").click();
  await page.heading("runs fail").waitFor();
  expect(await page.text("The last message did not arrive.").count()).toBe(0);
  await page.button("Send a test").click();
  const notice = page.page.locator(".notice", { hasText: "The last message did not arrive." });
  await notice.getByText("cannot be reached (ECONNREFUSED)").waitFor();
  expect(await page.violations()).toEqual([]);
  expect(await page.overflowing()).toEqual([]);
  await notice.getByRole("link", { name: "Change who is notified" }).click();
  await page.heading("Change the alert").waitFor();
  expect(page.path).toBe(`/alerts/${alert.id}?edit`);

  // The list tells it too, without a click.
  await page.visit("/alerts");
  const row = page.page.getByRole("row", { name: /runs fail/ });
  await row.getByText(/^Not delivered .*cannot be reached \(ECONNREFUSED\)/).waitFor();
  expect(await page.violations()).toEqual([]);
  expect(await page.overflowing()).toEqual([]);
  expect(page.errors).toEqual([]);
});
