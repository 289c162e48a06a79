import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readConfig } from "../../src/config/index.ts";
import { phone, type RunningConsole, startConsole } from "../support/console-page.ts";

vi.setConfig({ testTimeout: 60_000 });

let running: RunningConsole;
beforeAll(async () => {
  const { deployments } = readConfig({ TREADLE_ISOLATION: "off" });
  running = await startConsole({ deployments });
}, 120_000);
afterAll(() => running?.stop());

describe("the deployments page", () => {
  it("says when code of all workspaces runs as one user", async () => {
    const page = await running.open("/deployments", { viewport: phone });
    await page.text("Deployed code is not isolated.").waitFor();
    await page.text("Code of all workspaces runs as one user").waitFor();
    expect(await page.violations()).toEqual([]);
    expect(await page.overflowing()).toEqual([]);
    expect(page.errors).toEqual([]);
  });
});
