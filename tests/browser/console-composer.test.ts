import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let running: RunningConsole;
beforeAll(async () => {
  running = await startConsole();
});
afterAll(() => running?.stop());

it("the next message is taken while what the last one changed is still being loaded", async () => {
  const { body: thread } = await running.app.call<{ thread_id: string }>("POST", "/threads", { body: {} });
  const { page } = await running.open(`/agents/built-in/threads/${thread.thread_id}`);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route(/\/history(\?|$)/, async (route) => {
    await released;
    await route.continue();
  });
  const field = page.getByRole("textbox", { name: "Message" });
  const messages = page.getByRole("log", { name: "Messages" }).getByRole("article");
  const say = async (words: string) => {
    await field.fill(words);
    await page.keyboard.press("Enter");
  };
  await page.getByRole("combobox", { name: "Assistant" }).selectOption({ label: "echo" });
  await say("first");
  await messages.nth(1).waitFor();
  await expect.poll(() => field.inputValue()).toBe("");
  await say("second");
  const runs = () => running.app.call<unknown[]>("GET", `/threads/${thread.thread_id}/runs`);
  await expect.poll(async () => (await runs()).body.length).toBe(2);
  release();
  await messages.nth(3).waitFor();
});
