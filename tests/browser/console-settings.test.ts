import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let running: RunningConsole;

beforeAll(async () => {
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

async function works(key: string): Promise<number> {
  return (await running.app.call("GET", "/v2/workspaces", { headers: { "x-api-key": key } })).status;
}

describe("API keys", () => {
  it("are shown once, copied, used, and revoked", async () => {
    const page = await running.open("/settings");
    await page.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.page.getByRole("table", { name: "API keys" }).getByText("this one").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("New key").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.text("Name it after what uses it").waitFor();
    expect(await page.violations()).toEqual([]);
    await dialog.getByLabel("Name").fill("pipeline");
    await dialog.getByLabel("Role", { exact: true }).selectOption("editor");
    await dialog.getByLabel("Expires").selectOption("30");
    await page.page.keyboard.press("Enter");
    await page.text("it is shown this once.").waitFor();
    await dialog.getByRole("button", { name: "Copy the key" }).click();
    const key = (await page.page.evaluate("navigator.clipboard.readText()")) as string;
    expect(await works(key)).toBe(200);
    expect(await page.violations()).toEqual([]);
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.page.getByRole("row", { name: /pipeline/ });
    await row.getByText("Editor").waitFor();
    expect(await page.page.content()).not.toContain(key);

    await page.button("Revoke pipeline").click();
    await page.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await works(key)).toBe(200);
    await page.button("Revoke pipeline").click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
    expect(await works(key)).toBe(401);
    expect(page.errors).toEqual([]);
  });

  it("made elsewhere show up without a reload", async () => {
    const page = await running.open("/settings");
    await page.page.getByRole("table", { name: "API keys" }).waitFor();
    await running.app.call("POST", "/v2/api-keys", { body: { name: "from elsewhere" } });
    await page.page.getByRole("row", { name: /from elsewhere/ }).waitFor();
  });
});

describe("members", () => {
  it("are added, given another role, and removed", async () => {
    const page = await running.open("/settings?tab=members");
    await page.button("Add a member").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByLabel("Email").fill("ada");
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.text("Write an address like ada@example.com.").waitFor();
    await dialog.getByLabel("Email").fill("ada@example.com");
    await dialog.getByLabel("Name").fill("Ada");
    await dialog.getByRole("button", { name: "Add" }).click();
    const row = page.page.getByRole("row", { name: /Ada/ });
    await row.waitFor();
    expect(await page.violations()).toEqual([]);
    await page.field("Role of Ada").selectOption("editor");
    await page.text("Ada is now editor.").waitFor();
    const { body } = await running.app.call<{ resources: { email: string; role: string }[] }>(
      "GET",
      "/v2/members",
    );
    expect(body.resources.find(({ email }) => email === "ada@example.com")?.role).toBe("editor");
    await page.button("Remove Ada").click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await row.waitFor({ state: "detached" });
    expect(page.errors).toEqual([]);
  });

  it("keep their last admin, and the refusal is said in words", async () => {
    const page = await running.open("/settings?tab=members");
    await page.button(/^Remove Admin/).click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Remove" }).click();
    await dialog.getByRole("alert").waitFor();
    expect(await dialog.getByRole("alert").textContent()).toMatch(/admin/i);
    expect(await page.violations()).toEqual([]);
  });
});

describe("workspaces", () => {
  it("are made, entered, renamed and deleted by their name, on a phone", async () => {
    const page = await running.open("/settings?tab=workspaces", { viewport: phone });
    await page.button("New workspace").click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Looms");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.button("Switch to Looms").waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    await page.button("Switch to Looms").click();
    await page.page.getByRole("row", { name: /Looms/ }).getByText("you are here").waitFor();
    // A reload stays there.
    await page.page.reload();
    await page.page.getByRole("row", { name: /Looms/ }).getByText("you are here").waitFor();
    await page.button("Rename Looms").click();
    await dialog.getByLabel("Name").fill("Spindles");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await page.button("Delete Spindles").click();
    await dialog.getByRole("textbox").fill("Spindles");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.page.getByRole("row", { name: /Spindles/ }).waitFor({ state: "detached" });
    await page.text("you are here").waitFor();
    expect(page.errors).toEqual([]);
  });
});
